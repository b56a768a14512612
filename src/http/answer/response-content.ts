// What may follow the head of a response.

import type { Duplex } from 'node:stream'

import type { ByteSource, GivenSource } from './byte-source.ts'
import type { FileOptions } from './file-options.ts'

/** A file that is opened when the response is sent. */
export interface FileContent {
  readonly path: string
  readonly options: FileOptions
}

/**
 * Speaks another protocol from here on. It writes the 101 itself and owns the connection: no timeout applies any more. What it throws or
 * rejects with is logged, and the connection is aborted.
 * @param socket bytes in both directions, with back-pressure; `end` half-closes
 * @param head what has arrived after the request already, often nothing
 */
export type TakeOver = (socket: Duplex, head: Buffer) => void

/** The socket that `TakeOver` gets, as modules know it. No entry of the package exports it. */
export interface UpgradedDuplex extends Duplex {
  /** Whether the client has read any of what waited for it at the last call. */
  hasBeenRead(): boolean
}

/** What follows the head. Text is sent as UTF-8. `file` is a file that is yet to be opened: what `next()` gives and `beforeSend` sees never is one. */
export type ResponseContent =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'stream'
      readonly source: ByteSource
      /** @internal */
      readonly giver: GivenSource['giver']
    }
  | { readonly kind: 'file'; readonly file: FileContent }
  | { readonly kind: 'upgrade'; readonly protocol: string; readonly takeOver: TakeOver }

export const NO_CONTENT: ResponseContent = Object.freeze({ kind: 'none' })
