// Fetches a set of keys (RFC 7517 §5), within limits of time and size.

import { Buffer } from 'node:buffer'

import type { FetchSet } from './keys.ts'

interface FetchLimits {
  /** In milliseconds, from the request to the last byte. */
  readonly timeoutMs: number
  readonly maxBytes: number
}

/** Redirects are not followed: they could lead to a place that someone else controls. */
export function setFetcher(url: URL, fetch: typeof globalThis.fetch, { timeoutMs, maxBytes }: FetchLimits): FetchSet {
  return async () => {
    const signal = AbortSignal.timeout(timeoutMs)
    const headers = { accept: 'application/jwk-set+json, application/json' }
    const response = await fetch(url, { headers, redirect: 'error', signal })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Error(`${url.href} answered with status ${response.status}`)
    }
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += piece.length
      if (bytes > maxBytes) throw new Error(`${url.href} answered with more than ${maxBytes} bytes`)
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  }
}
