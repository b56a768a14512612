// Compression with an older version of a file as the dictionary (RFC 9842): a client that has `app-1a2b3c4d.js` gets `app-5e6f7a8b.js` as the
// difference. Only files whose names have a hash take part, and only files that everyone may read, so that no client gets data of another one.

import { hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../base/clock.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { EncodingChooser } from '../../formats/accept-encoding.ts'
import type { HttpSession } from '../../http/session.ts'
import { DiskFile } from '../kit/disk-file.ts'
import { exchange } from '../kit/exchange.ts'
import { type DictionaryCoding, MOST_DICTIONARY_BYTES } from './delta-codings.ts'
import { inodeOf, type Shelf, type StaticFile, type StaticVariant } from './file.ts'

type Sent = NonNullable<StaticVariant['memory']>

/**
 * Names that a bundler derives from the content: `app-1a2b3c4d.js`, `main.3f2a1b9c.css`. A hash has a digit or a capital, other words mostly have
 * not.
 */
const HASHED = /^(?<stem>[\w.~-]*?[\w~])(?<mark>[-.])(?=[\w-]*[\dA-Z])[\w-]{8,64}\.(?<extension>[a-z][a-z\d]{0,9})$/
/** How many differences are made at a time, on threads of the pool. A client that comes meanwhile gets the whole file. */
const MOST_AT_WORK = 2
/**
 * How much time may be spent on differences at once, and the share of later time that is added. A large file takes seconds, and clients could
 * request so many pairs of files that the kept differences displace each other. When no time is left, clients get whole files.
 */
const FREE_MS = 20_000
const SHARE = 1 / 20
/** How many older versions of a file are looked at, the newest first. */
const MOST_VERSIONS = 32
/** How often a directory is read again for a hash that is not known. */
const LOOK_MS = 10_000
/** Files whose hash is remembered, directories, and differences that are not worth it, or are too large to keep. */
const MOST_KNOWN = 10_000
const ENTRY_BYTES = 1_024

interface Version {
  /** Below the root. */
  readonly name: string
  readonly path: string
}

export class Dictionaries {
  readonly #root: string
  readonly #shelf: Shelf
  readonly #maxBytes: number
  readonly #codings: readonly DictionaryCoding[]
  readonly #chooser: EncodingChooser
  /** By their directory, because several may have the same file, and the base64 of their SHA-256. */
  readonly #versions = new Map<string, Version>()
  /** The names and states of files whose hash is known. */
  readonly #hashed = new Set<string>()
  /** When a directory was read for a name, by both. */
  readonly #looked = new Map<string, number>()
  /** By the file and the dictionary, with the last used at the end. Null: the difference is no smaller, or too large. */
  readonly #deltas = new Map<string, { readonly sent: Sent; readonly bytes: number } | null>()
  readonly #making = new Map<string, Promise<Sent | null>>()
  #bytes = 0
  /** Of the time for making differences, at the time of the last one. */
  #spentMs = 0
  #spentAt = 0
  readonly #clock: Clock

  /** @param codings the preferred one first @param maxBytes for all differences */
  constructor(root: string, shelf: Shelf, codings: readonly DictionaryCoding[], maxBytes: number, clock: Clock = systemClock) {
    this.#clock = clock
    this.#codings = codings
    this.#chooser = new EncodingChooser(codings.map(({ name }) => name))
    this.#root = root
    this.#shelf = shelf
    this.#maxBytes = maxBytes
  }

  /** States what the file is a dictionary for. @returns the difference; null if the client gets the file itself */
  offer(session: HttpSession, file: StaticFile): Sent | null | Promise<Sent | null> {
    const { request, response } = session
    const base = file.name.slice(file.name.lastIndexOf('/') + 1)
    const groups = HASHED.exec(base)?.groups
    if (groups === undefined || file.variants[0].size > MOST_DICTIONARY_BYTES) return null
    const { stem, mark, extension } = groups
    // Relative to the file, so it stays right below any prefix.
    response.header('Use-As-Dictionary', `match="${stem}${mark}*.${extension}"`)
    response.vary('Accept-Encoding', 'Available-Dictionary')
    const available = EncodingChooser.availableDictionary(request)
    if (available === null) return null
    const [best] = this.#chooser.choose(request.header('accept-encoding')).codings
    const coding = this.#codings.find(({ name }) => name === best)
    if (coding === undefined) return null
    return this.#delta(
      session,
      file,
      available,
      coding,
      (name) => name.startsWith(`${stem}${mark}`) && name.endsWith(`.${extension}`) && HASHED.test(name),
    )
  }

  async #delta(
    session: HttpSession,
    file: StaticFile,
    available: string,
    coding: DictionaryCoding,
    isVersion: (name: string) => boolean,
  ): Promise<Sent | null> {
    const key = `${coding.name} ${available} ${file.fingerprint}`
    const kept = this.#deltas.get(key)
    if (kept !== undefined) {
      this.#deltas.delete(key)
      this.#deltas.set(key, kept)
      return kept?.sent ?? null
    }
    let making = this.#making.get(key)
    if (making === undefined) {
      if (this.#making.size >= MOST_AT_WORK || this.#spent() >= FREE_MS) return null
      const begunAt = this.#clock.now()
      making = this.#make(key, file, available, coding, isVersion)
        .catch(() => null) // a file that is gone, or may not be read
        .finally(() => {
          this.#making.delete(key)
          this.#spentMs = this.#spent() + this.#clock.now() - begunAt
        })
      this.#making.set(key, making)
    }
    return exchange(session).inTurn(making) // others may wait for it, too
  }

  #spent(): number {
    const now = this.#clock.now()
    this.#spentMs = Math.max(0, this.#spentMs - (now - this.#spentAt) * SHARE)
    this.#spentAt = now
    return this.#spentMs
  }

  async #make(
    key: string,
    file: StaticFile,
    available: string,
    coding: DictionaryCoding,
    isVersion: (name: string) => boolean,
  ): Promise<Sent | null> {
    const place = `${dirname(file.name)} ${available}`
    const version = this.#versions.get(place) ?? (await this.#look(file, place, isVersion))
    if (version === null || !isVersion(basename(version.name))) return null
    const dictionary = await bytesOf(version.path)
    const bytes = await bytesOf(file.variants[0].path, file.variants[0].inode)
    if (dictionary === null || hash('sha256', dictionary, 'base64') !== available) {
      this.#versions.delete(place) // it is gone, or has changed
      return null
    }
    if (bytes === null) return null
    const content = await coding.compress(bytes, dictionary, available)
    // A difference that cannot be kept would be computed for each client.
    const fits = content.byteLength + ENTRY_BYTES <= this.#maxBytes
    const isWorth = fits && content.byteLength < Math.min(...file.variants.map(({ size }) => size))
    const tag = `${hash('sha256', bytes, 'base64url').slice(0, 22)}-${hash('sha256', content, 'base64url').slice(0, 22)}`
    const { contentType, cacheControl, fields } = file
    const facts = { contentType, cacheControl, fields, coding: coding.name, variesByEncoding: true }
    const sent = isWorth ? DiskFile.fixed(content, tag, facts) : null
    if (Date.now() >= file.variants[0].settledAt) this.#keep(key, sent, content.byteLength)
    return sent
  }

  #keep(key: string, sent: Sent | null, size: number): void {
    const bytes = size + ENTRY_BYTES
    this.#deltas.set(key, sent === null ? null : { sent, bytes })
    if (sent !== null) this.#bytes += bytes
    for (const [first, delta] of this.#deltas) {
      if (this.#bytes <= this.#maxBytes && this.#deltas.size <= MOST_KNOWN) break
      this.#deltas.delete(first)
      this.#bytes -= delta?.bytes ?? 0
    }
  }

  /** Looks among the versions of a file for the version with this directory and hash. */
  async #look(file: StaticFile, place: string, isVersion: (name: string) => boolean): Promise<Version | null> {
    const directory = dirname(file.name)
    const looked = this.#looked.get(file.name)
    if (looked !== undefined && performance.now() - looked < LOOK_MS) return null
    this.#looked.set(file.name, performance.now())
    keepNewest(this.#looked, MOST_KNOWN)
    const names = (await readdir(join(this.#root, directory))).filter(isVersion)
    const dated = await Promise.all(
      names.slice(0, MOST_KNOWN).map(async (name) => ({ name, at: (await stat(join(this.#root, directory, name))).mtimeMs })),
    )
    const newest = dated.toSorted((a, b) => b.at - a.at).slice(0, MOST_VERSIONS)
    for (const { name } of newest) await this.#learn(directory === '.' ? name : `${directory}/${name}`)
    return this.#versions.get(place) ?? null
  }

  /** Finds the file as a request would: a name that is not served is no dictionary either. */
  async #learn(name: string): Promise<void> {
    const found = await this.#shelf.find(name)
    if (found === null || typeof found !== 'object' || found.variants[0].size > MOST_DICTIONARY_BYTES) return
    const mark = found.fingerprint
    if (this.#hashed.has(`${name} ${mark}`)) return
    const { path, inode } = found.variants[0]
    const bytes = await bytesOf(path, inode)
    if (bytes === null) return
    const sha256 = hash('sha256', bytes, 'base64')
    this.#hashed.add(`${name} ${mark}`)
    this.#versions.set(`${dirname(name)} ${sha256}`, { name, path })
    keepNewest(this.#hashed, MOST_KNOWN)
    keepNewest(this.#versions, MOST_KNOWN)
  }
}

/** Null if there is none, or another one than was found. */
async function bytesOf(path: string, inode?: string): Promise<Uint8Array | null> {
  const file = await DiskFile.open(path)
  if (typeof file === 'number') return null
  try {
    const isSame = inode === undefined || inodeOf(file.stats) === inode
    return isSame && file.size <= MOST_DICTIONARY_BYTES ? await file.read() : null
  } finally {
    await file.close()
  }
}
