/** What the map shows: nodes, the pods on them, and who waits; made of the lines of `GET /api/v1/map`. */

export interface MapNode {
  labels: Record<string, string>;
  taints: string[];
  unschedulable: boolean;
  ready: boolean;
  /** By resource: cpu in milli, all else in units. */
  allocatable: Record<string, number>;
}

export interface MapPod {
  /** Empty while the pod waits. */
  node: string;
  workload: string;
  phase: string;
  priority: number;
  requests: Record<string, number>;
}

/** All that is told of a pod but its node: pods of a line that look alike share it. */
type Look = Omit<MapPod, "node">;

/** A line as the server sends it. */
export interface SentLine extends Omit<MapLine, "pods"> {
  pods: Record<string, [node: string, look: number] | null>;
  looks?: Look[];
}

export interface MapLine {
  nodes: Record<string, MapNode | null>;
  pods: Record<string, MapPod | null>;
  complete: boolean;
  /** What has been told up to this line is how it is, or was, at that revision. */
  revision?: number;
}

/** Give each pod of a line its look. */
export function whole({ pods: sent, looks = [], ...rest }: SentLine): MapLine {
  const pods: MapLine["pods"] = {};
  for (const key in sent) {
    const [node, index] = sent[key] ?? [];
    const look = index === undefined ? undefined : looks[index];
    pods[key] =
      node === undefined || !look
        ? null
        : {
            node,
            workload: look.workload,
            phase: look.phase,
            priority: look.priority,
            requests: look.requests,
          };
  }
  return { ...rest, pods };
}

export class MapModel {
  readonly nodes = new Map<string, MapNode>();
  readonly pods = new Map<string, MapPod>();
  /** The pods of each node; under "" those that wait. */
  private readonly places = new Map<string, Set<string>>();
  /** Nodes whose picture is out of date since `settled` was last called. */
  readonly dirty = new Set<string>();
  /** How often nodes have changed: what is derived from all of them need not be derived more often. */
  nodesVersion = 0;
  /** The revision that it shows; 0 while it is not complete. */
  revision = 0;
  /** Whether other nodes are to be drawn than before, or in other groups. */
  isRearranged = true;

  apply(line: MapLine): void {
    for (const [name, node] of Object.entries(line.nodes)) {
      const before = this.nodes.get(name);
      if (node) this.nodes.set(name, node);
      else this.nodes.delete(name);
      this.dirty.add(name);
      this.nodesVersion += 1;
      if (!before || !node || groupingOf(before) !== groupingOf(node)) this.isRearranged = true;
    }
    for (const key in line.pods) this.place(key, line.pods[key] ?? null);
    // Between two revisions it is neither.
    this.revision = line.revision ?? 0;
  }

  private place(key: string, pod: MapPod | null): void {
    const before = this.pods.get(key);
    if (before) {
      this.places.get(before.node)?.delete(key);
      this.dirty.add(before.node);
    }
    if (!pod) {
      this.pods.delete(key);
      return;
    }
    this.pods.set(key, pod);
    this.dirty.add(pod.node);
    const there = this.places.get(pod.node);
    if (there) there.add(key);
    else this.places.set(pod.node, new Set([key]));
  }

  /** Everything is drawn. */
  settled(): void {
    this.dirty.clear();
    this.isRearranged = false;
  }

  /** The pods of a node; of "" those that wait. Pods that have ended hold nothing and are left out. */
  podsOf(node: string): [string, MapPod][] {
    const found: [string, MapPod][] = [];
    for (const key of this.places.get(node) ?? []) {
      const pod = this.pods.get(key) as MapPod;
      if (pod.phase !== "Succeeded" && pod.phase !== "Failed") found.push([key, pod]);
    }
    return found;
  }

  /** How much of a resource the pods of a node ask for. */
  used(node: string, resource: string): number {
    return this.podsOf(node).reduce((sum, [, pod]) => sum + amount(pod, resource), 0);
  }

  /** The part of a resource that is asked for, from 0 to 1 and beyond; 0 where there is none. */
  share(node: string, resource: string): number {
    const allocatable = this.nodes.get(node)?.allocatable[resource] ?? 0;
    return allocatable ? this.used(node, resource) / allocatable : 0;
  }

  /** All resources of all nodes, the common ones first. */
  resources(): string[] {
    const found = new Set<string>();
    for (const node of this.nodes.values()) for (const name of Object.keys(node.allocatable)) found.add(name);
    const common = ["cpu", "memory", "pods"].filter((name) => found.delete(name));
    return [...common, ...[...found].sort()];
  }

  /** Labels by which nodes can be grouped: those with more than one node to a value. */
  labels(): string[] {
    const values = new Map<string, Set<string>>();
    for (const node of this.nodes.values()) {
      for (const [key, value] of Object.entries(node.labels)) {
        const known = values.get(key);
        if (known) known.add(value);
        else values.set(key, new Set([value]));
      }
    }
    const useful = [...values].filter(([, known]) => known.size <= Math.max(1, this.nodes.size / 2));
    return useful.map(([key]) => key).sort();
  }
}

/** What a pod asks for; each one counts as a pod. */
export function amount(pod: MapPod, resource: string): number {
  return resource === "pods" ? 1 : (pod.requests[resource] ?? 0);
}

function groupingOf(node: MapNode): string {
  return JSON.stringify([node.labels, node.taints]);
}

/** An amount as people write it: `1.5` CPUs, `12.5Gi`. */
export function words(value: number, resource: string): string {
  if (resource === "cpu") return `${round(value / 1000)}`;
  if (resource !== "memory" && resource !== "ephemeral-storage" && !resource.startsWith("hugepages-"))
    return `${value}`;
  const units = ["", "Ki", "Mi", "Gi", "Ti"];
  let scaled = value;
  while (scaled >= 1024 && units.length > 1) {
    scaled /= 1024;
    units.shift();
  }
  return `${round(scaled)}${units[0]}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
