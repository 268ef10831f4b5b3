/** What the parts of the cluster said of an object, newest first. */

import { useEffect, useState } from "preact/hooks";
import { type KubeObject, WHOLE } from "../api/forms";
import { timeShown } from "../api/past";
import { Reflector, type Subscriber } from "../api/reflector";
import { at } from "../shell/router";
import { texts } from "../texts";
import { age } from "./age";
import { WideTable } from "./wide-table";

interface KubeEvent extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
  eventTime?: string;
  series?: { count?: number; lastObservedTime?: string };
}

const when = (event: KubeEvent) =>
  event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";

export function Events({ uid, namespace }: { uid: string; namespace: string }) {
  const t = texts.value.events;
  const [events, setEvents] = useState<KubeEvent[]>([]);
  useEffect(() => {
    const path = `/k8s/api/v1/namespaces/${encodeURIComponent(namespace || "default")}/events`;
    const subscriber: Subscriber<KubeObject> = {
      changed: (_, items) => setEvents([...items.values()].sort((a, b) => (when(a) < when(b) ? 1 : -1))),
      failed: () => undefined,
    };
    const selection = { fieldSelector: `involvedObject.uid=${uid}` };
    const reflector = new Reflector<KubeObject>(path, selection, WHOLE, subscriber, at.value);
    reflector.start();
    return () => reflector.stop();
  }, [uid]);
  if (!events.length) return <p class="muted">{t.none}</p>;
  return (
    <WideTable label={texts.value.object.events} heads={[t.age, t.type, t.reason, t.message]}>
      {events.map((event) => (
        <tr key={event.metadata.uid}>
          <td>
            {age(when(event), timeShown())}
            {(event.series?.count ?? event.count ?? 1) > 1 && ` ×${event.series?.count ?? event.count}`}
          </td>
          <td lang="en">{event.type}</td>
          <td lang="en">{event.reason}</td>
          <td class="message" lang="en">
            {event.message}
          </td>
        </tr>
      ))}
    </WideTable>
  );
}
