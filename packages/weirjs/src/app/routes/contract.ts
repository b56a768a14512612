// A contract: routes by name, without handlers, which a server maps and a client calls. `weirjs/client` makes them.

import type { ParamsOf } from '../../routing/template.ts'

import type { AnySchema } from '../../schema/standard.ts'

import type { BodyOption, NoDeclaration, Parameter, RouteOptions } from './declaration.ts'
import type { ParameterSource } from './parameter-source.ts'

/** One route of a contract. Made by `get`, `post`, `put`, `patch`, `del`, `query` and `entry`. */
export interface Entry<M extends string = string, P extends string = string, D = object> {
  readonly method: M
  /** The template. */
  readonly path: P
  readonly declaration: D
}

/** Routes by the names under which handlers are mapped, and clients call them. */
export type Contract = { readonly [name: string]: Entry }

/** Options of an entry, apart from what it binds: those that its clients have to know, and those for documents. */
export type EntryOptions = Pick<
  RouteOptions,
  'answers' | 'body' | 'summary' | 'description' | 'operationId' | 'deprecated' | 'tags' | 'tool'
>

/** The declaration of an entry: parameters, by their names, and options. */
export type EntryDeclaration<D> = {
  readonly [K in keyof D]: K extends 'body'
    ? BodyOption
    : D[K] extends Parameter
      ? Parameter
      : K extends keyof EntryOptions
        ? EntryOptions[K]
        : K extends keyof RouteOptions
          ? `clients do not need '${K}': pass it to mapContract`
          : Parameter
}

/** The parameters in the template `P`, by name. */
export type PathParameters<P extends string> = ParamsOf<P>

/** A WebSocket of a contract. Made by `ws`. */
export interface WebSocketEntry<
  P extends string = string,
  D = object,
  R extends AnySchema | undefined = AnySchema | undefined,
  S extends AnySchema | undefined = AnySchema | undefined,
> extends Entry<'GET', P, D> {
  readonly upgradesTo: 'websocket'
  /** The schema of what clients send; undefined: texts and bytes. */
  readonly receives: R
  /** The schema of what the server sends; undefined: texts and bytes. */
  readonly sends: S
}

/** The options of a WebSocket entry: the schemas of its messages, and options for documents. */
export interface WebSocketEntryOptions extends Omit<EntryOptions, 'answers' | 'body'> {
  /** The schema of what clients send, as JSON. Default: they send texts and bytes. */
  readonly receives?: AnySchema
  /** The schema of what the server sends, as JSON. Default: it sends texts and bytes. */
  readonly sends?: AnySchema
}

/** The declaration of a WebSocket entry: parameters, by their names, and options. */
export type WebSocketDeclaration<D> = {
  readonly [K in keyof D]: K extends 'receives' | 'sends'
    ? AnySchema
    : K extends 'answers' | 'body'
      ? `a WebSocket has no '${K}': declare receives and sends`
      : D[K] extends ParameterSource<unknown, unknown, 'header'>
        ? `pages cannot send '${K & string}' with a WebSocket: declare a parameter of the query`
        : K extends keyof EntryOptions
          ? D[K] extends Parameter
            ? Parameter
            : EntryOptions[K]
          : K extends keyof RouteOptions
            ? D[K] extends Parameter
              ? Parameter
              : `clients do not need '${K}': pass it to mapContract`
            : Parameter
}

/** The entry that `ws` makes of a declaration. */
export type WebSocketEntryOf<P extends string, D = NoDeclaration> = WebSocketEntry<
  P,
  Omit<D, 'receives' | 'sends'>,
  SchemaOf<D, 'receives'>,
  SchemaOf<D, 'sends'>
>
type SchemaOf<D, K extends string> = D extends { readonly [N in K]: infer R extends AnySchema } ? R : undefined
