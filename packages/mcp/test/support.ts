// A client of the protocol, as small as it can be.
import type { HttpServer, InjectRequest } from 'weirjs'

type Fields = Record<string, string>

export interface Called {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** Sends one message, and returns the response. */
export function send(server: HttpServer, json: unknown, headers: Fields = {}, more: Partial<InjectRequest> = {}) {
  return server.inject({
    method: 'POST',
    url: '/mcp',
    json,
    headers: { Accept: 'application/json, text/event-stream', ...headers },
    ...more,
  })
}

/** The `result` of a method, or its `error`. */
export async function ask(server: HttpServer, method: string, params: object = {}, headers: Fields = {}) {
  const { result, error } = (await send(server, { jsonrpc: '2.0', id: 1, method, params }, headers)).json() as {
    result?: Record<string, unknown>
    error?: { code: number; message: string }
  }
  return result ?? { error }
}

export async function call(server: HttpServer, name: string, args: object = {}, headers: Fields = {}): Promise<Called> {
  return (await ask(server, 'tools/call', { name, arguments: args }, headers)) as unknown as Called
}

/** The text of a result. */
export function textOf({ content, isError }: Called): string {
  return `${isError === true ? 'error: ' : ''}${content.map(({ text, type }) => text ?? `(${type})`).join('\n')}`
}
