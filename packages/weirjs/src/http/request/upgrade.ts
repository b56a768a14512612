// Whether a request asks for another protocol on its connection.

import type { Head } from '../../wire/head/head.ts'

/** @internal The protocols that a client wants to switch to. See `HttpRequest.upgrade`. */
export function upgradeOf(head: Head): string | null {
  const { upgrade, contentLength, method } = head
  return upgrade && contentLength === 0 && method !== 'HEAD' ? head.get('upgrade')!.toLowerCase() : null
}
