// Pages of long lists: their parameters, their results, and the links between them (RFC 8288).

import { count } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { arrayOf, type ObjectSchema, objectOf } from '../../schema/composite.ts'
import type { NumberSchema } from '../../schema/numbers.ts'
import type { AnySchema, InputOf, OutputOf } from '../../schema/standard.ts'
import { t } from '../../schema/t.ts'
import type { TextSchema } from '../../schema/text.ts'

/**
 * @example
 * const options: PagesOptions = { maxLimit: 50 }
 * pages(t.string, options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/answers.md
 */
export interface PagesOptions {
  /** How many items a page has if the client does not say so. Default 20. */
  readonly limit?: number
  /** The most items that a client may ask for. When exceeded: 400. Default 100. */
  readonly maxLimit?: number
}

/** @internal */
export const PAGES_RULES = rules<PagesOptions>('pages')({
  limit: count({ least: 1 }).or(20),
  maxLimit: count({ least: 1 }).or(100),
})

/** A page of a list. */
interface Page<T> {
  readonly items: readonly T[]
  /** The cursor of the next page; missing or null on the last one. */
  readonly next?: string | null | undefined
  /** The cursor of the previous page; missing or null on the first one, and where there is no way back. */
  readonly previous?: string | null | undefined
}

/**
 * The schemas of a list in pages. Made by `pages`.
 * @example
 * const users: Pages<typeof t.string> = pages(t.string)
 * server.mapGet('/users', { ...users.query, answers: { 200: users.result } }, () => ({ items: ['Ada'] }))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/answers.md
 */
export interface Pages<S extends AnySchema> {
  /** The parameters of the route, for its declaration: `{ ...Users.query }`. `cursor` is at most 1,024 characters, and missing for the first page. */
  readonly query: {
    readonly limit: NumberSchema<number, number | undefined>
    readonly cursor: TextSchema<string | undefined, string | undefined>
  }
  /** The schema of a page, for `answers`. */
  readonly result: ObjectSchema<
    { items: OutputOf<S>[]; next?: string; previous?: string },
    { items: InputOf<S>[]; next?: string; previous?: string }
  >
  /** Adds the links to the next and the previous page to the response, and returns the page for the handler to return. */
  send<T>(session: HttpSession, page: Page<T>): { readonly items: readonly T[]; readonly next?: string; readonly previous?: string }
}

/** A cursor is a part of a URL. */
const MOST_CHARACTERS = 1024

/**
 * Returns the schemas of a list in pages: `query` for the parameters `limit` and `cursor`, and `result` for `{ items, next, previous }`. A cursor is a
 * text of the program's own that says where a page begins, such as the id of the item before it. Clients may change it: check it like any other
 * parameter.
 *
 * @param item the schema of an item
 * @throws WEIR_OPTION_INVALID
 * @example
 * const users = pages(t.object({ id: t.int }), { maxLimit: 50 })
 * server.mapGet('/users', { ...users.query, answers: { 200: users.result } }, ({ limit }) => ({ items: find(limit) }))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/answers.md
 */
export function pages<S extends AnySchema>(item: S, options: PagesOptions = {}): Pages<S> {
  const { limit, maxLimit } = PAGES_RULES.read(options)
  if (limit > maxLimit) throw invalid('pages', `limit is ${limit}, more than maxLimit, which is ${maxLimit}`)
  const cursor = t.string.min(1).max(MOST_CHARACTERS).optional()
  return {
    query: { limit: t.int.min(1).max(maxLimit).default(limit), cursor },
    result: objectOf({ items: arrayOf(item), next: cursor, previous: cursor }) as unknown as Pages<S>['result'],
    send({ request, response }, { items, next, previous }) {
      for (const [relation, at] of [['next', next] as const, ['prev', previous] as const]) {
        if (at === null || at === undefined) continue
        const query = new URLSearchParams(request.queryString)
        query.set('cursor', at)
        // Relative to the URL of the request, wherever a proxy has the application.
        response.appendHeader('Link', `<?${query}>; rel="${relation}"`)
      }
      return { items, ...(typeof next === 'string' && { next }), ...(typeof previous === 'string' && { previous }) }
    },
  }
}
