// A contract: routes by name, without handlers, which a server maps and a client calls. `weirjs/client` makes them.

import type { ParamsOf } from '../../routing/template.ts'

import type { BodyOption, Parameter, RouteOptions } from './declaration.ts'

/** One route of a contract. Made by `get`, `post`, `put`, `patch`, `del`, `query` and `entry`. */
export interface Entry<M extends string = string, P extends string = string, D = object> {
  readonly method: M
  /** The template. */
  readonly path: P
  readonly declaration: D
}

/** Routes by the names under which handlers are mapped, and clients call them. */
export type Contract = { readonly [name: string]: Entry }

/** Options of an entry, apart from what it binds: what its clients have to know, and what documents say. */
export type EntryOptions = Pick<RouteOptions, 'answers' | 'body' | 'summary' | 'description' | 'operationId' | 'deprecated' | 'tags'>

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
