// Compression with an older version of a file as the dictionary (RFC 9842): a client that has `app-1a2b3c4d.js` gets `app-5e6f7a8b.js` as the
// difference. Only files whose names have a hash take part, and only files that everyone may read, so that no client gets data of another one.

import { createHash } from 'node:crypto'
import { opendir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../../base/clock.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { EncodingChooser } from '../../formats/accept-encoding.ts'
import type { HttpSession } from '../../http/session.ts'
import { DiskFile } from '../kit/disk-file.ts'
import { exchange } from '../kit/exchange.ts'
import type { DeltaCoding } from './delta-coding.ts'
import { inodeOf, type Shelf, type StaticFile, type StaticVariant } from './file.ts'

type Sent = NonNullable<StaticVariant['memory']>

/**
 * Names that a bundler derives from the content: `app-1a2b3c4d.js`, `main.3f2a1b9c.css`. A hash has a digit or a capital, other words mostly have
 * not.
 */
const HASHED = /^(?<stem>[\w.~-]*?[\w~])(?<mark>[-.])(?=[\w-]*[\dA-Z])[\w-]{8,64}\.(?<extension>[a-z][a-z\d]{0,9})$/
/** Of a file and of its dictionary. With this, making a difference takes 90 MB, and loading the dictionary takes 6 ms of the main thread. */
const MOST_DICTIONARY_BYTES = 2 ** 22
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
/** Files whose hash is remembered, names of one stem, and differences that are not worth it, or are too large to keep. */
const MOST_KNOWN = 10_000
const ENTRY_BYTES = 1_024
/** How much is hashed in one turn of the event loop. */
const PIECE_BYTES = 2 ** 20

/** Makes differences one at a time, because each takes a thread of the pool and much memory. Clients that come meanwhile get whole files. */
export class DeltaWork {
  readonly #clock: Clock
  #isBusy = false
  /** Of the time for making differences, at that moment. */
  #spentMs = 0
  #at = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns null if another one is at work, or no time is left */
  begin<T>(make: () => Promise<T>): Promise<T> | null {
    const begunAt = this.#clock.now()
    this.#spentMs = Math.max(0, this.#spentMs - (begunAt - this.#at) * SHARE)
    this.#at = begunAt
    if (this.#isBusy || this.#spentMs >= FREE_MS) return null
    this.#isBusy = true
    return make().finally(() => {
      this.#isBusy = false
      this.#at = this.#clock.now()
      this.#spentMs += this.#at - begunAt
    })
  }
}

/** One for all modules, which share the threads and the memory of the process. */
const PROCESS_WORK = new DeltaWork(systemClock)

interface Version {
  /** Below the root. */
  readonly name: string
  readonly path: string
}

export class Dictionaries {
  readonly #root: string
  readonly #shelf: Shelf
  readonly #maxBytes: number
  readonly #compress: DeltaCoding
  readonly #work: DeltaWork
  readonly #chooser = new EncodingChooser(['dcz'])
  /** By their directory, because several may have the same file, and the base64 of their SHA-256. */
  readonly #versions = new Map<string, Version>()
  /** The names and states of files whose hash is known. */
  readonly #hashed = new Set<string>()
  /** When a directory was read for the versions of a file, by both. */
  readonly #looked = new Map<string, number>()
  /** By the file and the dictionary, with the last used at the end. Null: the difference is no smaller, or too large. */
  readonly #deltas = new Map<string, { readonly sent: Sent; readonly bytes: number } | null>()
  readonly #making = new Map<string, Promise<Sent | null>>()
  #bytes = 0

  /** @param maxBytes for all differences */
  constructor(root: string, shelf: Shelf, compress: DeltaCoding, maxBytes: number, work: DeltaWork = PROCESS_WORK) {
    this.#root = root
    this.#shelf = shelf
    this.#compress = compress
    this.#maxBytes = maxBytes
    this.#work = work
  }

  /** States what the file is a dictionary for. @returns the difference; null if the client gets the file itself */
  offer(session: HttpSession, file: StaticFile): Sent | null | Promise<Sent | null> {
    const { request, response } = session
    const versions = versionsOf(basename(file.name))
    if (versions === null || file.variants[0].size > MOST_DICTIONARY_BYTES) return null
    // Relative to the file, so it stays right below any prefix.
    response.header('Use-As-Dictionary', `match="${versions}"`)
    response.vary('Accept-Encoding', 'Available-Dictionary')
    const available = EncodingChooser.availableDictionary(request)
    if (available === null || this.#chooser.choose(request.header('accept-encoding')).codings.length === 0) return null
    const key = `${available} ${file.fingerprint}`
    const kept = this.#deltas.get(key)
    if (kept !== undefined) {
      this.#deltas.delete(key)
      this.#deltas.set(key, kept)
      return kept?.sent ?? null
    }
    let making = this.#making.get(key) ?? null
    if (making === null) {
      making = this.#work.begin(() => this.#make(key, file, available, versions).catch(() => null)) // a file that is gone, or may not be read
      if (making === null) return null
      this.#making.set(key, making)
      making.finally(() => this.#making.delete(key))
    }
    return exchange(session).inTurn(making) // others may wait for it, too
  }

  async #make(key: string, file: StaticFile, available: string, versions: string): Promise<Sent | null> {
    const place = `${dirname(file.name)} ${available}`
    const version = this.#versions.get(place) ?? (await this.#look(file, place, versions))
    if (version === null || versionsOf(basename(version.name)) !== versions) return null
    const dictionary = await bytesOf(version.path)
    const bytes = await bytesOf(file.variants[0].path, file.variants[0].inode)
    if (dictionary === null || (await sha256Of(dictionary)) !== available) {
      this.#versions.delete(place) // it is gone, or has changed
      return null
    }
    if (bytes === null) return null
    const content = await this.#compress(bytes, dictionary, available)
    // A difference that cannot be kept would be computed for each client.
    const fits = content.byteLength + ENTRY_BYTES <= this.#maxBytes
    const isWorth = fits && content.byteLength < Math.min(...file.variants.map(({ size }) => size))
    const { contentType, cacheControl, fields } = file
    const facts = { contentType, cacheControl, fields, coding: 'dcz', variesByEncoding: true }
    // It begins with the hash of the dictionary, and so no other file has the same difference.
    const sent = isWorth ? DiskFile.fixed(content, await sha256Of(content), facts) : null
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
  async #look(file: StaticFile, place: string, versions: string): Promise<Version | null> {
    const directory = dirname(file.name)
    const path = join(this.#root, directory)
    const key = `${directory}/${versions}`
    const looked = this.#looked.get(key)
    if (looked !== undefined && performance.now() - looked < LOOK_MS) return null
    this.#looked.set(key, performance.now())
    keepNewest(this.#looked, MOST_KNOWN)
    const dated: { readonly name: string; readonly at: number }[] = []
    // One after the other: a directory may have thousands, and other requests need the event loop and the pool.
    for await (const { name } of await opendir(path)) {
      if (versionsOf(name) !== versions) continue
      dated.push({ name, at: (await stat(join(path, name))).mtimeMs })
      if (dated.length === MOST_KNOWN) break
    }
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
    const sha256 = await sha256Of(bytes)
    this.#hashed.add(`${name} ${mark}`)
    this.#versions.set(`${dirname(name)} ${sha256}`, { name, path })
    keepNewest(this.#hashed, MOST_KNOWN)
    keepNewest(this.#versions, MOST_KNOWN)
  }
}

/** What the names of all versions of a file are like: `app-*.js`. Null for a name without a hash. */
function versionsOf(name: string): string | null {
  const groups = HASHED.exec(name)?.groups
  if (groups === undefined) return null
  const { stem, mark, extension } = groups
  return `${stem}${mark}*.${extension}`
}

/** In base64. Other requests come between the pieces. */
async function sha256Of(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    hash.update(bytes.subarray(at, at + PIECE_BYTES))
    await nextTurn()
  }
  return hash.digest('base64')
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
