// Clients that send requests all the time while a server is restarted, and what they lost.

import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  /** Whether a client reuses its connection for as long as the server keeps it open. */
  readonly keepsAlive: boolean
  readonly clients: number
  /** The longest random pause between two requests of a client, in milliseconds. Default: no pause. */
  readonly pauseMs?: number
  /** How long a client waits for a response, in milliseconds. Default: for ever. */
  readonly timeoutMs?: number
}

export interface LoadReport {
  readonly answered: number
  /** Requests without a complete response, with what arrived instead. */
  readonly lost: readonly string[]
  /**
   * Requests that crossed the end of an idle connection: nothing was sent back, and the client tried again (RFC 9112 §9.3.1). Only a longer
   * wait could avoid that.
   */
  readonly retried: number
  /** Processes that answered. */
  readonly servers: number
}

const NOTHING = 'no response'
const SILENCE = 'silence'
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const LAST_REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

/** Sends requests until `isOver` returns true. */
export async function load(options: LoadOptions, isOver: (answered: number) => boolean): Promise<LoadReport> {
  const lost: string[] = []
  const servers = new Set<string>()
  let answered = 0
  let retried = 0
  const ask = async (): Promise<void> => {
    let socket: Socket | null = null
    let isUsed = false
    while (!isOver(answered)) {
      if (options.pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, Math.random() * options.pauseMs!))
      // A connection that the server has closed in the meantime is not a loss: the client has noticed, and opens a new one.
      if (socket !== null && (socket.readableEnded || socket.destroyed)) socket = null
      try {
        isUsed = socket !== null
        socket ??= await open(options.port)
        const { text, closes } = await exchange(socket, options.keepsAlive ? REQUEST : LAST_REQUEST, options.timeoutMs)
        servers.add(text)
        answered++
        if (closes) socket = null
      } catch (error) {
        const { message } = error as Error
        if (isUsed && message === NOTHING) retried++
        else lost.push(message)
        socket?.destroy()
        socket = null
      }
    }
    socket?.destroy()
  }
  await Promise.all(Array.from({ length: options.clients }, ask))
  return { answered, lost, retried, servers: servers.size }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => {}) // `close` follows
      socket.resume() // an end is noticed even if no request is pending
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

function exchange(socket: Socket, request: string, timeoutMs?: number): Promise<{ text: string; closes: boolean }> {
  return new Promise((resolve, reject) => {
    let received = ''
    const settle = (error: Error | null): void => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onEnd).off('end', onEnd)
      if (error !== null) reject(error)
    }
    const onData = (bytes: Buffer): void => {
      received += bytes.toString('latin1')
      const headEnd = received.indexOf('\r\n\r\n')
      const head = received.slice(0, headEnd)
      const text = received.slice(headEnd + 4)
      if (headEnd === -1 || text.length < Number(/^content-length: (\d+)$/im.exec(head)![1])) return
      settle(null)
      const closes = /^connection: close$/im.test(head)
      if (closes) socket.end()
      resolve({ text, closes })
    }
    const onEnd = (): void => settle(new Error(received === '' ? NOTHING : `a part of a response: ${received.slice(0, 60)}`))
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => settle(new Error(SILENCE)), timeoutMs)
    socket.on('data', onData).on('close', onEnd).on('end', onEnd)
    socket.write(request)
  })
}
