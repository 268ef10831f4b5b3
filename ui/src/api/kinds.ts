/** The kinds that the Kubernetes API serves, from its aggregated discovery. */

import { ApiError, askJson } from "./http";

export interface Kind {
  group: string;
  version: string;
  /** Plural, as in paths: `pods`. */
  resource: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames: string[];
  /** Whether status is written apart from the rest. */
  hasStatus: boolean;
  /** `pods`, `deployments.apps`: names the kind in links. */
  id: string;
}

interface Discovery {
  items: {
    metadata?: { name?: string };
    versions: {
      version: string;
      resources?: {
        resource: string;
        responseKind?: { kind: string };
        scope: string;
        verbs: string[];
        shortNames?: string[];
        subresources?: { subresource: string }[];
      }[];
    }[];
  }[];
}

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
let known: Promise<Kind[]> | undefined;

/** All kinds that can be listed, in the order of their ids; asked for once. */
export function kinds(): Promise<Kind[]> {
  known ??= discover().catch((error) => {
    known = undefined;
    throw error;
  });
  return known;
}

/** Find a kind by its id; custom kinds may have come since the last look. */
export async function findKind(id: string): Promise<Kind> {
  const found = (await kinds()).find((kind) => kind.id === id);
  if (found) return found;
  return findIn(await rediscovered(), id);
}

/** Find the kind that a manifest names. */
export async function kindOf(apiVersion: string, kind: string): Promise<Kind> {
  const fits = (one: Kind) => apiVersionOf(one) === apiVersion && one.kind === kind;
  const found = (await kinds()).find(fits) ?? (await rediscovered()).find(fits);
  if (!found) throw new ApiError(404, `no matches for kind "${kind}" in version "${apiVersion}"`);
  return found;
}

function rediscovered(): Promise<Kind[]> {
  known = undefined;
  return kinds();
}

function findIn(all: Kind[], id: string): Kind {
  const found = all.find((kind) => kind.id === id);
  if (!found) throw new ApiError(404, `the server doesn't have a resource type "${id}"`);
  return found;
}

async function discover(): Promise<Kind[]> {
  const answers = await Promise.all([
    askJson<Discovery>("/k8s/api", { accept: ACCEPT }),
    askJson<Discovery>("/k8s/apis", { accept: ACCEPT }),
  ]);
  const found = new Map<string, Kind>();
  for (const item of answers.flatMap((answer) => answer.items)) {
    const group = item.metadata?.name ?? "";
    for (const { version, resources } of item.versions) {
      for (const { resource, responseKind, scope, verbs, shortNames, subresources } of resources ?? []) {
        const id = group ? `${resource}.${group}` : resource;
        // The first version of a group is the one it prefers.
        if (found.has(id) || !verbs.includes("list")) continue;
        found.set(id, {
          group,
          version,
          resource,
          kind: responseKind?.kind ?? resource,
          namespaced: scope === "Namespaced",
          verbs,
          shortNames: shortNames ?? [],
          hasStatus: subresources?.some((one) => one.subresource === "status") ?? false,
          id,
        });
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function apiVersionOf(kind: Kind): string {
  return kind.group ? `${kind.group}/${kind.version}` : kind.version;
}

/** The path of a kind, of those in a namespace, or of one object. */
export function pathOf(kind: Kind, namespace = "", name = ""): string {
  const head = kind.group ? `/k8s/apis/${kind.group}/${kind.version}` : `/k8s/api/${kind.version}`;
  const place = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${head}${place}/${kind.resource}${name ? `/${encodeURIComponent(name)}` : ""}`;
}
