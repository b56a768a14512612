// The shared receive buffer (shared-read.ts) for sockets that speak TLS.
//
// Node reads into a buffer of the caller's (`onread`) only if a socket was created with one, and it creates the sockets of a TLS server
// itself. What `onread` sets, three properties with symbols for names and a method of the handle, is set here on an accepted socket. None of
// it is documented: if anything is not as expected, nothing is changed, and the caller reads with `data` events.
//
// Node passes on one record of TLS at a time, at most 16 KiB.

import type { Socket } from 'node:net'

import { onreadFor, type Reader } from './shared-read.ts'

type Named = Record<symbol, unknown>

interface Handle {
  useUserBuffer?(buffer: Uint8Array): void
}

/** The symbols, once they have been found on any socket: they are the same for all. Null if Node does not have them. */
let known: readonly [buffer: symbol, callback: symbol, generator: symbol] | null | undefined

/** @returns whether `socket`, of which nothing has been read, reads into the shared buffer from now on */
export function shareTls(socket: Socket, reader: Reader): boolean {
  if (known === undefined) known = symbolsOf(socket)
  const handle = (socket as unknown as { readonly _handle?: Handle | null })._handle
  if (known === null || typeof handle?.useUserBuffer !== 'function') return false
  const [buffer, callback, generator] = known
  const named = socket as unknown as Named
  if (named[buffer] !== null || named[callback] !== null || named[generator] !== null) return false
  const onread = onreadFor(reader)
  const first = onread.buffer()
  named[buffer] = first
  named[callback] = onread.callback
  named[generator] = onread.buffer
  handle.useUserBuffer(first!)
  return true
}

function symbolsOf(socket: Socket): typeof known & (readonly symbol[] | null) {
  const all = Object.getOwnPropertySymbols(socket)
  const find = (name: string): symbol | undefined => all.find(({ description }) => description === name)
  const [buffer, callback, generator] = [find('kBuffer'), find('kBufferCb'), find('kBufferGen')]
  return buffer === undefined || callback === undefined || generator === undefined ? null : [buffer, callback, generator]
}
