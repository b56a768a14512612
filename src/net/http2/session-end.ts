// Ends of a session, taken out of Node's hands: outside of its reading they are harmless, inside of it they end the process.
//
// Node tells of frames while nghttp2 is reading them, and all that follows before the next turn of the event loop runs in there: `nextTick`,
// promises, handlers. Who destroys or closes the session in there, or resets a stream, makes nghttp2 send, and what it sends closes streams
// that its reading goes on with. Memory that is free by then is written to, and sooner or later the process aborts (nodejs/node issues 64113
// and 64850). Any client can have that: Node itself closes the session at GOAWAY, and destroys it at GOAWAY with an error and at frames that
// are invalid. It calls its public methods for that, and so they are replaced. Streams are reset a turn later, wherever we reset one.

import type { ServerHttp2Session } from 'node:http2'

/** What ends the session at once. Never to be called for what a frame has set off, before the next turn of the event loop. */
export interface SessionEnds {
  /**
   * For a session that has said GOAWAY, without streams: while others are under way, Node would refuse new ones with a reset, in the middle of
   * its reading.
   */
  readonly close: () => void
  readonly destroy: (error?: Error, code?: number) => void
}

/** @param finish takes the place of `session.close` */
export function takeEnds(session: ServerHttp2Session, finish: () => void): SessionEnds {
  const close = session.close.bind(session)
  const destroy = session.destroy.bind(session)
  session.close = finish
  session.destroy = (error, code) => {
    setImmediate(() => destroy(error, code))
  }
  return { close, destroy }
}
