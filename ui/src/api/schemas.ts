/** What fields a kind has, from the API's OpenAPI v3 documents; for completion. */

import { askJson } from "./http";
import { apiVersionOf, type Kind } from "./kinds";

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  description?: string;
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
}

interface OpenAPI {
  components: { schemas: Record<string, Schema> };
}

export interface Field {
  name: string;
  type: string;
  description: string;
}

const documents = new Map<string, Promise<OpenAPI>>();

/** The document of a kind's group and version; they are big, and asked for once. */
async function documentOf(kind: Kind): Promise<OpenAPI> {
  const place = kind.group ? `apis/${apiVersionOf(kind)}` : `api/${kind.version}`;
  let found = documents.get(place);
  if (!found) {
    const index = await askJson<{ paths: Record<string, { serverRelativeURL: string }> }>("/k8s/openapi/v3");
    const url = index.paths[place]?.serverRelativeURL ?? "";
    found = askJson<OpenAPI>(`/k8s${url}`);
    documents.set(place, found);
    found.catch(() => documents.delete(place));
  }
  return found;
}

/** The fields that may stand below a path of an object: `["spec", "containers"]`, list items being left out. */
export async function fieldsAt(kind: Kind, path: string[]): Promise<Field[]> {
  const { schemas } = (await documentOf(kind)).components;
  const resolve = (schema: Schema | undefined): Schema => {
    const reference = schema?.$ref ?? schema?.allOf?.[0]?.$ref;
    return reference ? (schemas[reference.replace("#/components/schemas/", "")] ?? {}) : (schema ?? {});
  };
  let at = Object.values(schemas).find((schema) =>
    schema["x-kubernetes-group-version-kind"]?.some(
      (one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind,
    ),
  );
  const inside = (schema: Schema | undefined): Schema => {
    const found = resolve(schema);
    return found.items ? resolve(found.items) : found;
  };
  for (const part of path) {
    const now = inside(at);
    at = now.properties?.[part] ?? now.additionalProperties;
  }
  return Object.entries(inside(at).properties ?? {}).map(([name, schema]) => ({
    name,
    type: schema.type ?? "object",
    description: schema.description ?? "",
  }));
}
