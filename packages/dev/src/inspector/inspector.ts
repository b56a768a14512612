// A page for development that shows the last exchanges of a server.

import { type HttpSession, type Module, type ModuleHost, type Policy, type Size, type Usable, WeirError } from 'weirjs'
import { credentialsOf } from 'weirjs/auth'
import type { Explanation } from 'weirjs/explain'
import { dev, invalid, launch, option, rules, systemClock } from 'weirjs/kit'

import { RELOAD_PATH } from '../reload-path.ts'
import { Capture } from './capture.ts'
import { type Entry, summaryOf } from './entry.ts'
import { ExchangeList, MOST_WATCHERS } from './exchange-list.ts'
import { harOf } from './har.ts'
import { PAGE } from './page.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

const { count, flag, list, secret, size, text, texts } = option

export interface InspectorOptions {
  /** Path of the page. Default `/_weir`. */
  readonly path?: string
  /** Name of the endpoint in `listen` at which the page is, for clients that are not on this machine. Default: none. */
  readonly endpoint?: string
  /** Names of hosts under which the page may be opened, in addition to `localhost` and addresses of this machine. Default: none. */
  readonly hosts?: readonly string[]
  /** How many exchanges are kept. Default 200. */
  readonly exchanges?: number
  /** How much of each body is kept. Default 64 KiB. */
  readonly maxBodySize?: Size
  /** More names of fields, parameters and properties whose values are secret. Default: none. */
  readonly mask?: readonly string[]
  /** Policies and middleware of the page's routes, such as `auth.open` where `auth` closes all routes. Default: none. */
  readonly use?: readonly Usable[]
  /** True: works in production too, where NODE_ENV is `production`. Default false. */
  readonly force?: boolean
  /**
   * The token in the fragment of the link to the page, which programs send as `Authorization: Bearer`: a secret of at least 22 characters. Default:
   * a new token for each module, or the token of `weir dev`.
   */
  readonly token?: string
}

/** The inspector is also a stream for logs: lines of JSON with a `requestId` are shown with their exchange. */
export interface Inspector extends Module {
  install(host: ModuleHost): void
  /** Takes lines of a log. A line without the id of a request is ignored. */
  write(text: string): boolean
}

/** A server can be asked to explain a request; the host of a module does not say so. */
type Explaining = ModuleHost & { explain?(request: object): Promise<Explanation> }

/** @internal */
export const INSPECTOR_RULES = rules<InspectorOptions>('inspector')({
  path: text('a path such as /_weir', (path) => /^(?:\/[\w.~-]+)+$/.test(path)).or('/_weir'),
  endpoint: text().orNull(),
  hosts: texts().or([]),
  exchanges: count({ least: 1 }).or(200),
  maxBodySize: size().or('64KiB'),
  mask: texts().or([]),
  use: list<Usable>().or([]),
  force: flag(false),
  token: secret(launch.TOKEN_FORM, (token) => typeof token === 'string' && launch.isLaunchToken(token)).optional('random'),
})
const CHALLENGE = 'Bearer realm="weir-inspector"'
/** The heartbeat of an event stream, so that a client that has left is noticed. */
const HEARTBEAT = ': \n\n'

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/**
 * Returns a module with a page that shows the last exchanges of the server, live. For development only.
 *
 * @throws WEIR_OPTION_INVALID for a wrong option, and if NODE_ENV is `production` unless `force` is set
 */
export function inspector(options: InspectorOptions = {}): Inspector {
  const { force, hosts, token = launch.launchHost()?.token ?? launch.newLaunchToken(), ...settings } = INSPECTOR_RULES.read(options)
  if (process.env['NODE_ENV'] === 'production' && !force)
    throw invalid('inspector', 'NODE_ENV is "production": everyone who may look sees what clients send. Set { force: true } if you mean it')
  return new InspectorModule({ ...settings, token, hosts: hosts.map((host) => host.toLowerCase()) })
}

interface Settings {
  readonly path: string
  readonly endpoint: string | null
  readonly hosts: readonly string[]
  readonly exchanges: number
  readonly maxBodySize: number
  readonly mask: readonly string[]
  readonly use: readonly Usable[]
  readonly token: string
}

class InspectorModule implements Inspector {
  readonly name = 'inspector'
  readonly #settings: Settings
  readonly #list: ExchangeList
  #masking: dev.Masking | null = null
  #isTold = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#list = new ExchangeList(settings.exchanges)
  }

  install(host: ModuleHost): void {
    const { path, maxBodySize, mask } = this.#settings
    const own = `${host.prefix}${path}`
    this.#masking = dev.masking(host, mask)
    // Its own requests would fill the list, and so would pages that wait for `weir dev`.
    const isOwn = (asked: string): boolean => asked === own || asked.startsWith(`${own}/`) || asked.startsWith(RELOAD_PATH)
    const capture = new Capture(this.#list, this.#masking, maxBodySize, isOwn)
    const token = new launch.LaunchToken('weir-inspector', own, this.#settings.token)
    host.observe({
      started: () => this.#tellLinks(host, own, token),
      begin: (start) => capture.begin(start),
      end: (record) => capture.end(record),
    })
    host.use({ name: 'inspector', middleware: capture.middleware, beforeSend: capture.beforeSend })
    this.#mapRoutes(host as Explaining, own, token)
  }

  write(text: string): boolean {
    for (const line of text.split('\n')) {
      const requestId = /"requestId":"([^"\\]{1,100})"/.exec(line)?.[1]
      if (requestId === undefined) continue
      this.#list.addLine(requestId, this.#masking === null ? line : this.#masking.body(line, 'application/json').text)
    }
    return true
  }

  #tellLinks(host: ModuleHost, own: string, token: launch.LaunchToken): void {
    const { endpoint } = this.#settings
    for (const one of host.endpoints)
      if (!one.isUnixSocket && (endpoint === null || one.name === endpoint))
        this.#tell(host, token.linkTo(`${launch.endpointOrigin(one)}${host.basePath}${own}`))
  }

  #tell(host: ModuleHost, link: string): void {
    this.#isTold = true
    const runner = launch.launchHost()
    if (runner !== null) runner.tell('inspector', link)
    else host.logger?.info?.(`weir: the inspector is open to whoever has this link: ${link}`)
  }

  #mapRoutes(host: Explaining, own: string, token: launch.LaunchToken): void {
    const { path, endpoint, hosts, use } = this.#settings
    const access: Policy = {
      name: 'inspector-access',
      gate: (session) => checkAccess(session, endpoint, hosts),
      describe: () => ({ isDocumented: false }),
    }
    const place = endpoint === null ? {} : { endpoint }
    const closed = { use: [...use, access], ...place }
    const key: Policy = {
      name: 'inspector-token',
      gate: (session) => {
        if (!token.admits(session)) throw locked()
      },
    }
    const common = { use: [...use, access, key], ...place }
    // What opens a browser passes it a ticket: other users of the machine may see the address.
    const tickets = new launch.LaunchTickets(this.#settings.token, systemClock)
    const send = (session: HttpSession, type: string, text: string) => secured(session).contentType(type).text(text)
    host.mapGet(path, closed, (_, session) => {
      if (token.admits(session)) return send(session, 'text/html; charset=utf-8', PAGE.replaceAll('BASE', session.basePath + own))
      // A server that does not listen itself has stated no address. Its origin is not known: the request may name the origin of another server,
      // which would get the token when someone opens the link.
      if (!this.#isTold) this.#tell(host, token.linkTo(session.basePath + own))
      return send(
        session,
        'text/html; charset=utf-8',
        launch.launchPage(launch.printedLink('The inspector'), `${session.basePath}${own}/enter`),
      )
        .status(401)
        .header('WWW-Authenticate', CHALLENGE)
        .header('Content-Security-Policy', launch.LAUNCH_POLICY)
    })
    host.mapPost(`${path}/enter`, closed, (_, session) => {
      if (!token.isSentBy(session) && !tickets.use(credentialsOf(session, 'Bearer') ?? '')) throw locked()
      return token.giveCookie(session)
    })
    host.mapGet(`${path}/inspector.css`, common, (_, session) => send(session, 'text/css; charset=utf-8', STYLE))
    host.mapGet(`${path}/inspector.js`, common, (_, session) => send(session, 'text/javascript; charset=utf-8', SCRIPT))
    host.mapGet(`${path}/exchanges`, common, (_, session) => secured(session).json(this.#list.summaries))
    host.mapGet(`${path}/exchanges/:number`, common, async ({ number }, session) => {
      const entry = this.#list.find(Number(number))
      return entry === undefined ? secured(session).status(404).json(null) : secured(session).json(await detailOf(entry, host))
    })
    host.mapGet(`${path}/har`, common, (_, session) =>
      secured(session).header('Content-Disposition', 'attachment; filename="weir.har"').json(harOf(this.#list.entries)),
    )
    host.mapPost(`${path}/clear`, common, (_, session) => {
      this.#list.clear()
      return secured(session).noContent()
    })
    host.mapGet(`${path}/events`, common, (_, session) => {
      const ends = AbortSignal.any([session.signal, session.server.stopping])
      const events = this.#list.watch(ends)
      if (events === null) throw new WeirError('WEIR_INSPECTOR_REFUSED', `more than ${MOST_WATCHERS} pages are open`)
      return secured(session).stream(eventText(events), 'text/event-stream')
    })
  }
}

/** @throws WEIR_INSPECTOR_REFUSED */
function checkAccess(session: HttpSession, endpoint: string | null, hosts: readonly string[]): void {
  const why = launch.refusalOf(session, endpoint, hosts)
  if (why !== null) throw new WeirError('WEIR_INSPECTOR_REFUSED', why)
}

function locked(): WeirError {
  return new WeirError('WEIR_INSPECTOR_LOCKED', undefined, { headers: { 'WWW-Authenticate': CHALLENGE, 'Cache-Control': 'no-store' } })
}

/** Nothing of these responses may be kept or framed. */
function secured({ response }: HttpSession) {
  return response
    .header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('Cross-Origin-Opener-Policy', 'same-origin')
    .header('Referrer-Policy', 'no-referrer')
    .header('Cache-Control', 'no-store')
}

async function* eventText(events: AsyncIterable<readonly object[]>): AsyncGenerator<string, void, undefined> {
  yield HEARTBEAT
  for await (const some of events) yield some.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

async function detailOf(entry: Entry, host: Explaining): Promise<object> {
  const { error, requestHead, requestBody, responseHead, responseBody, stages, messages, lines, protocol, clientAddress, isSecure } = entry
  return {
    ...summaryOf(entry),
    requestId: entry.requestId,
    protocol,
    clientAddress,
    isSecure,
    requestHead,
    requestBody,
    responseHead,
    responseBody,
    stages,
    messages: messages === null ? null : { count: messages.count, kept: messages.kept },
    lines,
    error: error === null ? null : { texts: error.texts, frames: await dev.framesOf(error.thrown) },
    explanation: await explained(entry, host),
  }
}

/** The request has been masked, so the explanation may be wrong where it depends on a secret. */
async function explained({ kind, method, url, requestHead, endpoint, peer, answeredBy }: Entry, host: Explaining): Promise<string | null> {
  if (kind !== 'request' || host.explain === undefined || url === null || peer === null) return null
  const headers = requestHead
    .split('\r\n')
    .slice(1, -1)
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const)
  try {
    const from = { isSecure: peer.isSecure, ...(peer.address === '' ? {} : { address: peer.address }) }
    const explanation = String(await host.explain({ method, url, headers, peer: from, ...(endpoint === null ? {} : { endpoint }) }))
    return answeredBy === null ? explanation : `${answeredBy} has answered. Without it:\n\n${explanation}`
  } catch {
    return null
  }
}
