// A WebSocket of a contract, from the client's side: typed messages, and another connection when one is lost.

import type { WebSocketEntry } from '../../app/routes/contract.ts'
import type { AnySchema, InputOf, OutputOf } from '../../schema/standard.ts'
import type { Json } from './answer.ts'
import type { OutlinedWebSocket } from './outline.ts'
import { type Args, type ArgsFor, urlOf } from './request.ts'

/** What arrives on a WebSocket entry. Without a schema, a text is a string and a binary message is bytes. */
type Incoming<E extends WebSocketEntry> = E['sends'] extends AnySchema ? Json<OutputOf<E['sends']>> : string | Uint8Array
/** What is sent: times are text there. */
type Outgoing<E extends WebSocketEntry> = E['receives'] extends AnySchema ? InputOf<E['receives']> : string | Uint8Array
type ArgsOfEntry<E extends WebSocketEntry> = ArgsFor<E['path'], E['declaration']>

/** What the client needs of a WebSocket as browsers have it, and of others like it, such as the `WebSocket` of the package `ws`. */
export interface WebSocketLike {
  binaryType: string
  onopen: ((event: never) => unknown) | null
  onmessage: ((event: never) => unknown) | null
  onclose: ((event: never) => unknown) | null
  onerror: ((event: never) => unknown) | null
  /** Any that takes texts and bytes. Which bytes, browsers and packages say in different ways. */
  send(data: never): void
  close(code?: number, reason?: string): void
}

/** The global `WebSocket`, or its like. */
export type WebSocketLikeConstructor = new (url: string, protocols: string[]) => WebSocketLike

/** The handlers of a WebSocket, and how it is opened. */
export interface ClientWebSocketOptions<In = unknown, Out = unknown> {
  /** Called for each connection that opens, the first one included: tell the server here where to continue. */
  open?(socket: ClientWebSocket<Out>): unknown
  /** A message has arrived. */
  message?(socket: ClientWebSocket<Out>, value: In): unknown
  /**
   * Called when a connection has ended, or could not be opened. `socket.state` is `waiting` if another one follows, and otherwise `closed`.
   *
   * @param code RFC 6455 §7.4; 1006 if it was lost or refused, 1007 if the server sent what is not JSON
   */
  close?(socket: ClientWebSocket<Out>, code: number, reason: string): unknown
  /**
   * How many milliseconds to wait before the next connection; null: there is none; undefined: as by default. Default: half a second, doubled for
   * each attempt up to half a minute, less up to half of it by chance. None after a close with 1000, or with a code that states a mistake of
   * either side or is the program's own.
   *
   * @param attempt 1 for the first one after a connection that lasted for 10 s or more
   * @param code as for `close`
   */
  retry?(attempt: number, code: number): number | null | undefined
  /** The subprotocols to offer, the preferred one first. */
  readonly protocols?: readonly string[]
  /** The class that opens connections. Default: the global `WebSocket`, which Node.js has from version 22. */
  readonly WebSocket?: WebSocketLikeConstructor
}

/** A WebSocket that is opened again when its connection is lost. */
export interface ClientWebSocket<Out = unknown> {
  /** `waiting`: for the time of the next connection. `closed`: there will be no other. */
  readonly state: 'connecting' | 'open' | 'waiting' | 'closed'
  /** Sends a message, on a WebSocket with a schema as JSON. @returns false if it is not open, and nothing was sent */
  send(value: Out): boolean
  /**
   * Closes it for good. `close` is still called if there is a connection.
   *
   * @param code 1000, or one of your own from 3000 to 4999
   */
  close(code?: number, reason?: string): void
}

/** Close codes after which another connection may help: the server stops, the network is down, a handler has failed, the server is busy. */
const PASSING = [1001, 1005, 1006, 1011, 1012, 1013, 1014]
/** A connection that has lasted this long counts as successful. */
const GOOD_MS = 10_000

const backOff = (attempt: number, code: number): number | null =>
  PASSING.includes(code) ? Math.min(30_000, 500 * 2 ** (attempt - 1)) * (1 - Math.random() / 2) : null

/**
 * Opens a WebSocket of a contract: `openWebSocket(api.chat, 'https://shop.example', { room: 'kitchen' }, { message(socket, line) { … } })`. When
 * its connection is lost, it opens another one after a while.
 *
 * Nothing is checked against schemas, as for `client`. What cannot be sent while there is no connection is not kept.
 * @param entry of the contract, or of what `outlineOf` returns for it
 * @param base as for `client`; `ws:` and `wss:` do as well
 * @param args the arguments, or a function that returns them for each connection, such as a token that expires. If it rejects, the
 * connection counts as lost
 * @throws TypeError for arguments that cannot be sent, and where there is no `WebSocket`
 */
export function openWebSocket<const E extends WebSocketEntry>(
  entry: E | OutlinedWebSocket,
  base: string,
  args: ArgsOfEntry<E> | (() => ArgsOfEntry<E> | Promise<ArgsOfEntry<E>>),
  options: ClientWebSocketOptions<Incoming<E>, Outgoing<E>> = {},
): ClientWebSocket<Outgoing<E>> {
  const { retry, protocols = [], WebSocket = (globalThis as { readonly WebSocket?: WebSocketLikeConstructor }).WebSocket } = options
  if (!WebSocket) throw new TypeError('there is no WebSocket here: pass one as the option "WebSocket"')
  let state: ClientWebSocket['state'] = 'connecting'
  let current: WebSocketLike | null = null
  let attempt = 0
  let since = 0
  let timer: ReturnType<typeof setTimeout>

  const connect = (given: ArgsOfEntry<E>): void => {
    const url = urlOf(entry, base, given as Args, (name) => {
      throw new TypeError(`"${name}" cannot be sent with a WebSocket`)
    })
    const absolute = new URL(url, (globalThis as { readonly location?: { readonly href: string } }).location?.href)
    absolute.protocol = absolute.protocol.replace('http', 'ws')
    const made = new WebSocket(absolute.href, [...protocols])
    current = made
    made.binaryType = 'arraybuffer'
    made.onopen = () => {
      if (state === 'closed') return
      state = 'open'
      since = Date.now()
      options.open?.(socket)
    }
    made.onmessage = ({ data }: { readonly data: string | ArrayBuffer }) => {
      if (state !== 'open') return
      let value: unknown = typeof data === 'string' ? data : new Uint8Array(data)
      if (entry.sends)
        try {
          value = JSON.parse(typeof data === 'string' ? data : '')
        } catch {
          made.onclose = null
          made.close()
          return end(1007, 'not valid JSON')
        }
      options.message?.(socket, value as Incoming<E>)
    }
    // The package `ws` throws without one. `onclose` follows.
    made.onerror = () => {}
    made.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => end(code, reason)
  }

  const start = async (): Promise<void> => {
    try {
      const given = await (args as () => Promise<ArgsOfEntry<E>>)()
      if (state !== 'closed') connect(given)
    } catch (error) {
      if (state !== 'closed') end(1006, String(error))
    }
  }
  const open = (): unknown => (typeof args === 'function' ? start() : connect(args))

  const end = (code: number, reason: string): void => {
    current = null
    if (state !== 'closed') {
      if (state === 'open' && Date.now() - since >= GOOD_MS) attempt = 0
      attempt++
      const wanted = retry?.(attempt, code)
      const delay = wanted === undefined ? backOff(attempt, code) : wanted
      state = delay === null ? 'closed' : 'waiting'
      if (delay !== null)
        timer = setTimeout(() => {
          state = 'connecting'
          open()
        }, delay)
    }
    options.close?.(socket, code, reason)
  }

  const socket: ClientWebSocket<Outgoing<E>> = {
    get state() {
      return state
    },
    send(value) {
      if (state !== 'open') return false
      current!.send((entry.receives ? JSON.stringify(value) : value) as never)
      return true
    },
    close(code = 1000, reason = '') {
      current?.close(code, reason)
      clearTimeout(timer)
      state = 'closed'
    },
  }
  open()
  return socket
}
