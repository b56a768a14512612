// Runs in the process of a program that `weir dev` has started: reloads the pages that are open in browsers when the program has been started
// again, and when a file of a page has changed.
//
// A page that a browser opens gets a script that keeps an event stream open. A new run begins a new stream: when the stream opens for the second
// time, the page is out of date.

import { setTimeout } from 'node:timers/promises'

import type { HttpResponse, HttpServer, HttpSession } from 'weirjs'
import { responseHandle } from 'weirjs/kit'

import { RELOAD_PATH } from '../reload-path.ts'

const HTML = /^text\/html\b/i
const POLICY_FIELD = 'Content-Security-Policy'
/** The policy of the page on which `debug` shows an error: it allows nothing but a style. */
const ERROR_PAGE_POLICY = /^default-src 'none'; style-src 'sha256-[^']+'(?:; (?:base-uri|form-action|frame-ancestors) 'none'){3}$/
const SCRIPT = `const events = new EventSource(document.currentScript.dataset.events)
let isOpen = false
events.onopen = () => {
  if (isOpen) location.reload()
  isOpen = true
}
events.onmessage = () => location.reload()
`
/** How long a browser waits until it opens the stream again. The command holds the sockets, so that it then waits for the next run. */
const RETRY_MS = 100
/** How often a stream sends a heartbeat, so that a client that has left is noticed. */
const HEARTBEAT_MS = 15_000
/** The script is not inserted into larger pages. */
const MOST_BYTES = 4 * 1024 * 1024

export class PageReload {
  #changed = new AbortController()

  /** Adds the script to the pages of a server, and maps its routes. */
  install(server: HttpServer): void {
    const own = { metadata: { compression: false }, use: [{ name: 'weir-dev', describe: () => ({ isDocumented: false }) }] }
    server.use({ name: 'weir-dev', beforeSend: insertScript })
    server.mapGet(`${RELOAD_PATH}.js`, own, (_, { response }) =>
      response.header('Cache-Control', 'no-cache').contentType('text/javascript').text(SCRIPT),
    )
    server.mapGet(RELOAD_PATH, own, (_, { request, response }) =>
      response
        .header('Cache-Control', 'no-store')
        .contentType('text/event-stream')
        .stream(this.#events(AbortSignal.any([server.stopping, request.signal]))),
    )
  }

  /** A file of a page has changed. */
  reload(): void {
    const before = this.#changed
    this.#changed = new AbortController()
    before.abort()
  }

  async *#events(over: AbortSignal): AsyncGenerator<string> {
    yield `retry: ${RETRY_MS}\n\n`
    while (!over.aborted) {
      const { signal } = this.#changed
      await setTimeout(HEARTBEAT_MS, null, { ref: false, signal: AbortSignal.any([over, signal]) }).catch(() => {})
      if (!over.aborted) yield signal.aborted ? 'data: reload\n\n' : ':\n\n'
    }
  }
}

/** Inserts the script only into responses that a browser opens as a page: scripts and tests get the unchanged response. */
function insertScript({ request, basePath }: HttpSession, given: HttpResponse): void {
  const response = responseHandle(given)
  const { content, type } = response
  if (request.header('sec-fetch-dest') !== 'document' || type === null || !HTML.test(type)) return
  if (response.getHeader('Content-Encoding') !== null || (content.kind !== 'text' && content.kind !== 'bytes')) return
  const page = content.kind === 'text' ? Buffer.from(content.text) : content.bytes
  if (page.length > MOST_BYTES) return
  // The error page allows no script by itself, but it should reload when the mistake has been fixed.
  const policy = response.getHeader(POLICY_FIELD) ?? ''
  if (ERROR_PAGE_POLICY.test(policy)) response.header(POLICY_FIELD, `${policy}; script-src 'self'; connect-src 'self'`)
  const script = `<script src="${basePath}${RELOAD_PATH}.js" data-events="${basePath}${RELOAD_PATH}"></script>\n`
  response.deliver(Buffer.concat([page, Buffer.from(script)]))
}
