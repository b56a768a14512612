// Exchanges as an HTTP Archive (HAR 1.2), which browsers and `replay` read.

import type { Entry, KeptBody } from './entry.ts'
import type { KeptMessage } from './socket-messages.ts'

interface Pair {
  readonly name: string
  readonly value: string
}

export function harOf(entries: readonly Entry[]): object {
  return {
    log: {
      version: '1.2',
      creator: { name: '@weirjs/dev', version: '1' },
      pages: [],
      entries: entries.filter(({ kind, method, status }) => kind === 'request' && method !== null && status !== null).map(entryOf),
    },
  }
}

function entryOf(entry: Entry): object {
  const { requestHead, requestBody, responseHead, responseBody, stages, protocol } = entry
  const headers = fieldsOf(requestHead)
  const answered = fieldsOf(responseHead ?? '')
  const url = urlOf(entry, headers)
  const wait = (stages.waitMs ?? 0) + (stages.handlerMs ?? 0) + (stages.sendMs ?? 0)
  return {
    startedDateTime: new Date(entry.startedAt).toISOString(),
    time: entry.durationMs,
    request: {
      method: entry.method,
      url: url.href,
      httpVersion: protocol,
      cookies: [],
      headers,
      queryString: [...url.searchParams].map(([name, value]) => ({ name, value })),
      headersSize: requestHead.length + 2,
      bodySize: entry.bytesIn,
      ...(requestBody === null || requestBody.cut !== null
        ? {}
        : { postData: { mimeType: fieldIn(headers, 'content-type'), ...textOf(requestBody) } }),
    },
    response: {
      status: entry.status,
      statusText: '',
      httpVersion: protocol,
      cookies: [],
      headers: answered,
      content: {
        size: responseBody?.length ?? entry.bytesOut,
        mimeType: fieldIn(answered, 'content-type'),
        ...(responseBody === null || responseBody.cut !== null ? {} : textOf(responseBody)),
      },
      redirectURL: fieldIn(answered, 'location'),
      headersSize: -1,
      bodySize: entry.bytesOut,
    },
    cache: {},
    timings: { send: 0, wait, receive: stages.bodyMs ?? 0 },
    connection: entry.connectionId ?? undefined,
    ...(entry.messages === null ? {} : { _webSocketMessages: entry.messages.kept.map(messageOf) }),
  }
}

/** In the form of Chromium, as its page sees it. */
function messageOf({ isFromClient, at, isBinary, text }: KeptMessage): object {
  return { type: isFromClient ? 'send' : 'receive', time: at / 1000, opcode: isBinary ? 2 : 1, data: text }
}

function fieldsOf(head: string): Pair[] {
  return head
    .split('\r\n')
    .slice(1)
    .flatMap((line) => {
      const colon = line.indexOf(': ')
      return colon === -1 ? [] : [{ name: line.slice(0, colon), value: line.slice(colon + 2) }]
    })
}

function fieldIn(fields: readonly Pair[], name: string): string {
  return fields.find((field) => field.name.toLowerCase() === name)?.value ?? ''
}

/** The host of a request is what a client says, so it may be a host that no URL can have. */
function urlOf({ url, isSecure }: Entry, headers: readonly Pair[]): URL {
  const scheme = isSecure ? 'https' : 'http'
  const target = url ?? '/'
  for (const text of [`${scheme}://${fieldIn(headers, 'host')}${target}`, target, `${scheme}://localhost${target}`])
    if (URL.canParse(text)) return new URL(text)
  return new URL(`${scheme}://localhost/`)
}

function textOf({ text, isBase64 }: KeptBody): object {
  return isBase64 ? { text, encoding: 'base64' } : { text }
}
