// The kinds of content that may follow the head of a response.

import type { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'

import { type ByteSource, type GivenSource, ownView, takeSource } from './byte-source.ts'
import type { FileOptions } from './file-options.ts'
import type { Problem } from './problem.ts'

/** A file that is opened when the response is sent. */
export interface FileContent {
  readonly path: string
  readonly options: FileOptions
}

/**
 * Takes over a connection to speak another protocol. It writes the 101 response itself and owns the connection: the server's timeouts no
 * longer apply. When it throws or rejects, the error is logged and the connection is aborted.
 * @param socket the connection's bytes in both directions, with back-pressure; `end` half-closes
 * @param head bytes that have already arrived after the request; often empty
 */
export type TakeOver = (socket: Duplex, head: Buffer) => void

/** The socket that `TakeOver` receives, as weir's modules see it. No entry of the package exports it. */
export interface UpgradedDuplex extends Duplex {
  readonly receivedBytes: number
  readonly writtenBytes: number
  /** Called when something has been received or written. Absent until someone sets it. */
  onActivity?: (() => void) | null
}

/** Called with each piece that is sent and, for another protocol, each message that the client sends. It must not throw. */
export type PieceWatcher = (piece: unknown, isFromClient?: boolean) => void

/**
 * What follows the head. Text is sent as UTF-8. `file` is a file that has not been opened yet: after `next()`, and in `beforeSend`, the
 * content is never of that kind.
 * @example
 * const isText = ({ kind }: ResponseContent) => kind === 'text'
 * server.use({ name: 'sizes', beforeSend: (_, { content }) => console.log(isText(content)) })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export type ResponseContent =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'text'
      readonly text: string
      /** The problem document that the text is the JSON form of. @internal */
      readonly problem?: Problem
    }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'stream'
      readonly source: ByteSource
      /** @internal */
      readonly giver: GivenSource['giver']
      /** @internal */
      readonly watcher?: NonNullable<GivenSource['watcher']>
    }
  | { readonly kind: 'file'; readonly file: FileContent }
  | {
      readonly kind: 'upgrade'
      readonly protocol: string
      readonly takeOver: TakeOver
      /** @internal That of the code that has passed it in. What happens on the connection happens in it. */
      readonly context: AsyncResource
      /** @internal */
      readonly watcher?: PieceWatcher
    }

export const NO_CONTENT: ResponseContent = Object.freeze({ kind: 'none' })
/** The same, if the handler of a GET has returned nothing and set no response. */
export const NOTHING_RETURNED: ResponseContent = Object.freeze({ kind: 'none' })

/** The bytes of a complete content. They are a copy, because bytes may be a view of the request's memory, which may be overwritten. */
export function copyOf(content: ResponseContent): Uint8Array | null {
  if (content.kind === 'text') return Buffer.from(content.text)
  return content.kind === 'bytes' ? Buffer.from(content.bytes) : null
}

/** How many bytes a complete content has. */
export function lengthOf(content: ResponseContent): number {
  if (content.kind === 'text') return Buffer.byteLength(content.text)
  return content.kind === 'bytes' ? content.bytes.length : 0
}

/** Bytes or a stream, as a response holds them. */
export function contentOf(body: Uint8Array | ByteSource): ResponseContent {
  return body instanceof Uint8Array ? { kind: 'bytes', bytes: ownView(body) } : { kind: 'stream', ...takeSource(body) }
}
