// The package `oidc-provider` as the identity provider of a test, and a browser without a screen that logs in there.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

import { type Configuration, Provider } from 'oidc-provider'

/** On a busy machine, the provider may take long. */
export const CLIENT = { clientId: 'app', clientSecret: 'a secret that is not in any log', timeout: '10m' } as const

export interface IdentityProvider {
  readonly issuer: string
  /** The paths that were requested, without their queries. */
  readonly requests: string[]
  /** Runs before each request. What it throws or never resolves is a provider that is away. */
  before: (() => Promise<unknown>) | null
  /** Answers a request in place of the provider, if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
  readonly server: Server
}

/** A provider on 127.0.0.1 that ends with the test. It knows everybody, by any password. @param apps the origins of its clients */
export async function startProvider(t: TestContext, apps: readonly string[], options: Configuration = {}): Promise<IdentityProvider> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: apps.map((origin) => `${origin}/auth/callback`),
        post_logout_redirect_uris: apps.map((origin) => `${origin}/`),
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['of a test'] },
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: id.toUpperCase(), email: `${id}@example.com` }) }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: 3_600, AuthorizationCode: 60, IdToken: 3_600, Interaction: 600, Grant: 3_600, Session: 3_600, RefreshToken: 3_600 },
    ...options,
  })
  provider.on('server_error', (_, error) => console.error(error))
  const answer = provider.callback()
  const requests: string[] = []
  const started: IdentityProvider = { issuer, requests, before: null, instead: null, server }
  server.on('request', (request, response) => {
    requests.push(`${request.method} ${request.url!.split('?')[0]}`)
    const begin = async (): Promise<void> => {
      try {
        await started.before?.()
        if (started.instead?.(request, response) !== true) await answer(request, response)
      } catch {
        response.destroy()
      }
    }
    void begin()
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return started
}

/** A browser without a screen: it follows redirects one at a time, and keeps cookies by origin. */
export class Visitor {
  readonly cookies = new Map<string, Map<string, string>>()
  /** The Set-Cookie fields that it has received, by origin. */
  readonly received: [origin: string, field: string][] = []

  /** Sends one request. */
  async go(address: string | URL, form?: Readonly<Record<string, string>>): Promise<Response> {
    const url = new URL(address)
    const jar = this.cookies.get(url.origin) ?? new Map<string, string>()
    this.cookies.set(url.origin, jar)
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '), Accept: 'text/html' },
      ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const field of response.headers.getSetCookie()) {
      this.received.push([url.origin, field])
      const [pair] = field.split(';')
      const name = pair!.slice(0, pair!.indexOf('='))
      if (/expires=Thu, 01 Jan 1970/i.test(field)) jar.delete(name)
      else jar.set(name, pair!.slice(name.length + 1))
    }
    return response
  }

  /** Begins a login. @returns the address at the provider */
  async begin(app: string, path = '/auth/login'): Promise<URL> {
    return next(await this.go(app + path), app)
  }

  /** Logs in at the provider, and agrees to all. @returns the address of the app to which the provider sends the browser */
  async logInAt(address: URL, login: string): Promise<URL> {
    let url = address
    for (let i = 0; i < 20; i++) {
      const response = await this.go(url)
      if (response.status < 300 || response.status > 399) {
        const page = await response.text()
        const [, action] = /action="([^"]+)"/.exec(page) ?? []
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
        if (action === undefined || prompt === undefined) throw new Error(`${response.status} ${url}: ${page.slice(0, 500)}`)
        const form: Record<string, string> = prompt === 'login' ? { prompt, login, password: 'any' } : { prompt }
        url = next(await this.go(new URL(action, url), form), url)
      } else url = next(response, url)
      if (url.origin !== address.origin) return url
    }
    throw new Error('the provider redirects without end')
  }

  /** A whole login. @returns the last response of the app */
  async logIn(app: string, login: string, path = '/auth/login'): Promise<Response> {
    return this.go(await this.logInAt(await this.begin(app, path), login))
  }
}

/** From now on, the provider takes a code again, and gives the same tokens for it. */
export function takeCodesAgain(idp: IdentityProvider): void {
  let first: string | null = null
  idp.instead = (request, response) => {
    if (request.url !== '/token') return false
    if (first !== null) {
      response.setHeader('Content-Type', 'application/json').end(first)
      return true
    }
    const end = response.end.bind(response) as (body: string) => ServerResponse
    response.end = ((body: string) => {
      if (response.statusCode === 200) first = String(body)
      return end(body)
    }) as typeof response.end
    return false
  }
}

export function next(response: Response, base: string | URL): URL {
  const location = response.headers.get('location')
  if (location === null) throw new Error(`${response.status} without Location`)
  return new URL(location, base)
}
