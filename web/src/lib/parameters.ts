/** A form from the typed parameters of a dag: what each is asked as, and what was meant by the text. */

import type { DagParameter } from "~/generated/api";

export type Ask =
  | { readonly kind: "text" | "number" | "integer" | "date" | "time" | "date-time" | "json" }
  | { readonly kind: "yes-no" }
  | { readonly kind: "choice"; readonly options: readonly unknown[] };

export interface Asked {
  readonly parameter: DagParameter;
  readonly ask: Ask;
  /** It may be null. */
  readonly nullable: boolean;
}

type Schema = Readonly<Record<string, unknown>>;

export function askedOf(parameter: DagParameter): Asked {
  const { schema, nullable } = withoutNull(resolved(parameter.schema, parameter.schema));
  return { parameter, ask: askOf(schema), nullable };
}

function askOf(schema: Schema): Ask {
  if (Array.isArray(schema.enum)) return { kind: "choice", options: schema.enum };
  switch (schema.type) {
    case "boolean":
      return { kind: "yes-no" };
    case "integer":
      return { kind: "integer" };
    case "number":
      return { kind: "number" };
    case "string":
      if (schema.format === "date" || schema.format === "time" || schema.format === "date-time") {
        return { kind: schema.format };
      }
      return { kind: "text" };
    default:
      return { kind: "json" };
  }
}

/** A schema that is told by reference to its own `$defs`. */
function resolved(schema: Schema, root: Schema): Schema {
  const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1)! : null;
  const found = name === null ? undefined : (root.$defs as Record<string, Schema> | undefined)?.[name];
  if (found !== undefined) return found;
  if (!Array.isArray(schema.anyOf)) return schema;
  return { ...schema, anyOf: schema.anyOf.map((each) => resolved(each as Schema, root)) };
}

function withoutNull(schema: Schema): { schema: Schema; nullable: boolean } {
  if (!Array.isArray(schema.anyOf)) return { schema, nullable: false };
  const rest = schema.anyOf.filter((each) => (each as Schema).type !== "null") as Schema[];
  const nullable = rest.length < schema.anyOf.length;
  return rest.length === 1 ? { schema: rest[0]!, nullable } : { schema: {}, nullable };
}

/** What the form shows at first: the default, as it would be typed. */
export function written({ ask, parameter }: Asked): string {
  const value = parameter.default;
  if (parameter.required || value === null || value === undefined) return "";
  if (ask.kind === "json" || ask.kind === "choice") return JSON.stringify(value);
  return String(value);
}

export class Unreadable extends Error {}

/** The value that the text means; undefined: leave it out, so that it has its default. */
export function meant({ ask, parameter, nullable }: Asked, text: string): unknown {
  if (text === "" && ask.kind !== "text") return absent(parameter, nullable);
  switch (ask.kind) {
    case "yes-no":
      return text === "true";
    case "integer":
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) throw new Unreadable("This is not a number.");
      if (ask.kind === "integer" && !Number.isInteger(value)) throw new Unreadable("A whole number is needed.");
      return value;
    }
    case "date-time": {
      const at = new Date(text);
      if (Number.isNaN(at.getTime())) throw new Unreadable("This is not a date and a time.");
      // What the browser's field gives has no zone: it is meant here.
      return /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : at.toISOString();
    }
    case "choice":
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new Unreadable('This is not JSON. Text needs quotes: "eu"; a list is [1, 2].');
      }
    case "text":
      return text === "" && nullable && !parameter.required && parameter.default === null ? undefined : text;
    default:
      return text;
  }
}

function absent(parameter: DagParameter, nullable: boolean): unknown {
  if (!parameter.required) return nullable && parameter.default !== null ? null : undefined;
  if (nullable) return null;
  throw new Unreadable("It has no default: give a value.");
}
