/** What fields a kind has, from the API's OpenAPI v3 documents; for completion. */

import { askJson } from "./http";
import { apiVersionOf, type Kind } from "./kinds";

export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  allOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  type?: string;
  description?: string;
  enum?: string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: JsonSchema;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
}

interface OpenAPI {
  components: { schemas: Record<string, JsonSchema> };
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
  const root = Object.values(schemas).find((schema) =>
    schema["x-kubernetes-group-version-kind"]?.some(
      (one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind,
    ),
  );
  return fieldsBelow(root, schemas, path);
}

/** The same, of a schema that refers to others by their names. */
export function fieldsBelow(
  root: JsonSchema | undefined,
  schemas: Record<string, JsonSchema>,
  path: string[],
): Field[] {
  const resolve = (schema: JsonSchema | undefined): JsonSchema => {
    const reference = schema?.$ref ?? schema?.allOf?.[0]?.$ref;
    if (reference) return schemas[reference.slice(reference.lastIndexOf("/") + 1)] ?? {};
    // What may be left out is one of a kind and nothing.
    const choice = schema?.anyOf?.find((one) => one.$ref || one.properties || one.items);
    return choice ? resolve(choice) : (schema ?? {});
  };
  const inside = (schema: JsonSchema | undefined): JsonSchema => {
    const found = resolve(schema);
    return found.items ? resolve(found.items) : found;
  };
  let at = root;
  for (const part of path) {
    const now = inside(at);
    at = now.properties?.[part] ?? now.additionalProperties;
  }
  return Object.entries(inside(at).properties ?? {}).map(([name, schema]) => ({
    name,
    type: schema.type ?? schema.anyOf?.find((one) => one.type && one.type !== "null")?.type ?? "object",
    description: schema.description ?? "",
  }));
}
