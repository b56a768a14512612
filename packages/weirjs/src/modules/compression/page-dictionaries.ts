// Dictionaries for pages of one template (RFC 9842): the common parts of the pages of a path are sent once, and then only the rest of each page.
//
// A dictionary is made from samples of the program, never from responses. Anyone may fetch it, so it must not contain data of a user.

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { EncodingChooser } from '../../formats/accept-encoding.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { type Coding, createDictionaryCoding, takesDictionaries } from './codings.ts'

/** By the paths of pages: `{ '/products/*': [page, another] }`. */
export type DictionarySources = Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>

/** Where clients fetch them. The name is the hash, so a dictionary never changes. */
const DICTIONARY_PATH = '/compression-dictionary/'
/** Loading a dictionary takes time with every page. */
const MOST_BYTES = 2 ** 20
/** A shorter text that samples share is there by chance, and costs about as much as it saves. */
const SHARED_BYTES = 16
/** A path with `*`, in the characters that both URL patterns and paths have as they are. */
const PATTERN = /^\/[\w\-.~!$&',;=@/%*]*$/

class PageDictionary {
  /** Base64. */
  readonly sha256: string
  readonly coding: Coding
  readonly #content: Uint8Array
  readonly #match: string
  readonly #pieces: readonly string[]

  constructor(match: string, content: Uint8Array, level: number) {
    this.#content = content
    this.sha256 = hash('sha256', content, 'base64')
    this.coding = createDictionaryCoding(level, content, this.sha256)
    this.#match = match
    this.#pieces = match.split('*')
  }

  /** @param path as it was sent, without the query */
  isFor(path: string): boolean {
    const [first = '', ...others] = this.#pieces
    const last = others.pop()
    if (last === undefined) return path === first
    if (!path.startsWith(first) || !path.endsWith(last)) return false
    const end = path.length - last.length
    let at = first.length
    for (const piece of others) {
      at = path.indexOf(piece, at)
      if (at === -1) return false
      at += piece.length
    }
    return at <= end
  }

  get path(): string {
    return DICTIONARY_PATH + Buffer.from(this.sha256, 'base64').toString('base64url')
  }

  send({ basePath, response }: HttpSession): HttpResponse {
    response.header('Use-As-Dictionary', `match="${basePath}${this.#match}"`)
    response.header('Cache-Control', 'public, max-age=31536000, immutable')
    return response.body(this.#content, 'application/octet-stream')
  }
}

/** The dictionaries of one module. */
export class PageDictionaries {
  readonly all: readonly PageDictionary[]
  readonly #chooser = new EncodingChooser(['dcz'])

  /** Null if this Node has none. @param level of Zstandard @throws WEIR_OPTION_INVALID */
  static of(sources: DictionarySources, level: number): PageDictionaries | null {
    const contents = Object.entries(sources).map(([match, source]) => [checkedMatch(match), contentOf(match, source)] as const)
    // No `dcb`: Brotli prepares a dictionary anew for each page, which takes longer than to compress the page without one.
    if (takesDictionaries()) return new PageDictionaries(contents.map((one) => new PageDictionary(...one, level)))
    process.emitWarning(
      `compression: dictionaries are not used, because Zstandard of Node.js ${process.versions.node} has none: 22.15 or later has`,
    )
    return null
  }

  private constructor(all: readonly PageDictionary[]) {
    this.all = all
  }

  /** The dictionary for this page; null if there is none. */
  for({ request }: HttpSession): PageDictionary | null {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    const { url } = request
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (path.startsWith(DICTIONARY_PATH)) return null
    return this.all.find((one) => one.isFor(path)) ?? null
  }

  /** How to compress a page for this client; null if the client does not have the dictionary. Browsers accept `dcz` only if they have one. */
  codingFor({ request }: HttpSession, { sha256, coding }: PageDictionary): Coding | null {
    if (EncodingChooser.availableDictionary(request) !== sha256) return null
    return this.#chooser.choose(request.header('accept-encoding')).codings.includes('dcz') ? coding : null
  }
}

/**
 * The parts that all samples have in common, in the order of the first. So a part of only one sample, such as the name of a user, is in no
 * dictionary.
 */
export function sharedOf(samples: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = samples.map((sample) => Buffer.from(sample).toString('latin1'))
  const seen = others.map((text) => {
    const pieces = new Set<string>()
    for (let i = 0; i + SHARED_BYTES <= text.length; i++) pieces.add(text.slice(i, i + SHARED_BYTES))
    return pieces
  })
  const shared: string[] = []
  let from = -1
  let end = 0
  for (let i = 0; i + SHARED_BYTES <= first!.length; i++) {
    const piece = first!.slice(i, i + SHARED_BYTES)
    if (!seen.every((pieces) => pieces.has(piece))) continue
    if (i > end || from === -1) {
      if (from !== -1) shared.push(first!.slice(from, end))
      from = i
    }
    end = i + SHARED_BYTES
  }
  if (from !== -1) shared.push(first!.slice(from, end))
  return Buffer.from(shared.join(''), 'latin1')
}

function checkedMatch(match: string): string {
  if (!PATTERN.test(match))
    throw invalid('compression', `dictionaries has ${JSON.stringify(match)}, not a path such as "/products/*", with "*" for any characters`)
  return match
}

function contentOf(match: string, source: DictionarySources[string]): Uint8Array {
  const given = Array.isArray(source) ? (source as readonly (string | Uint8Array)[]) : null
  const bytes = (given ?? [source as string | Uint8Array]).map((one) => {
    if (typeof one === 'string') return Buffer.from(one)
    if (one instanceof Uint8Array) return one
    throw invalid('compression', `dictionaries has ${kindOf(one)} for ${JSON.stringify(match)}, not text or bytes`)
  })
  if (given !== null && given.length < 2)
    throw invalid(
      'compression',
      `dictionaries has ${given.length === 0 ? 'no sample' : 'one sample'} for ${JSON.stringify(match)}: give two or more, or the dictionary itself`,
    )
  const content = given === null ? Uint8Array.from(bytes[0]!) : sharedOf(bytes)
  if (content.length === 0)
    throw invalid(
      'compression',
      `dictionaries has nothing for ${JSON.stringify(match)}: the samples have nothing in common, or it is empty`,
    )
  if (content.length > MOST_BYTES)
    throw invalid(
      'compression',
      `dictionaries has ${content.length} bytes for ${JSON.stringify(match)}, and the most are ${MOST_BYTES}: give less`,
    )
  return content
}
