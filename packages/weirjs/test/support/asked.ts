// Heads, requests and exchanges without a connection, for unit tests of what decides about them.

import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import { type Handler, Route } from '../../src/app/routes/route.ts'
import { RouteTable } from '../../src/app/routes/route-table.ts'
import { DEFAULT_LIMITS } from '../../src/base/limits.ts'
import { RequestBody } from '../../src/http/body/body.ts'
import type { ConnectionInfo } from '../../src/http/connection-info.ts'
import { Exchange } from '../../src/http/exchange.ts'
import { HttpRequest } from '../../src/http/request/request.ts'
import type { RouteMatch } from '../../src/http/route-info.ts'
import type { ServerHandle } from '../../src/http/session.ts'
import { TestClock } from '../../src/testing/test-clock.ts'
import type { Head } from '../../src/wire/head/head.ts'
import { HeadReader } from '../../src/wire/head/head-reader.ts'

export const SERVER: ServerHandle = {
  address: '',
  port: 0,
  connections: 0,
  isListening: true,
  isReady: true,
  stopping: new AbortController().signal,
  frontEnds: [],
  basePath: '',
  stop: () => Promise.resolve(),
}

export const CONNECTION: ConnectionInfo = {
  clientAddress: '192.0.2.1',
  clientPort: 1,
  isSecure: false,
  clientCertificate: null,
  connectionId: 'c1',
  endpointName: null,
  isTest: false,
  testPrincipal: null,
  clock: new TestClock(),
  forwarding: null,
  hosts: null,
  isConnected: true,
  describePeer: () => assert.fail('nobody asks for it'),
}

const SETTINGS = { limits: DEFAULT_LIMITS, jsonEngine: null, invalidBodyStatus: 400 } as const

/** @param line `GET /path`; without a host among the fields, it is `a` */
export function askedHead(line: string, ...fields: string[]): Head {
  const host = fields.some((field) => /^host:/i.test(field)) ? [] : ['Host: a']
  const bytes = Buffer.from([`${line} HTTP/1.1`, ...host, ...fields, '', ''].join('\r\n'), 'latin1')
  const head = new HeadReader().read(bytes, 0, bytes.length, DEFAULT_LIMITS)
  assert.ok(head !== null)
  return head
}

export function askedRequest(head: Head, match: RouteMatch, body: string | null = null): HttpRequest {
  return new HttpRequest(head, body === null ? null : bodyOf(body), CONNECTION, match, SETTINGS)
}

function bodyOf(text: string): RequestBody {
  const bytes = Buffer.from(text)
  const body = new RequestBody(bytes.length, null)
  body.push(bytes, 0, bytes.length, false)
  body.finish()
  return body
}

export function askedExchange(
  head: Head = askedHead('GET /'),
  match: RouteMatch = new RouteTable().root.noRoute,
  asked: Asked = {},
): Exchange {
  const { server = SERVER, isTest = false, body = null } = asked
  const connection = { ...CONNECTION, isTest }
  return new Exchange(server, head, connection, askedRequest(head, match, body), match, JSON.stringify, new AsyncResource('test'))
}

interface Asked {
  readonly server?: ServerHandle
  readonly isTest?: boolean
  readonly body?: string
}

/** The match of a request for a route without parameters in its path. */
export function matchOf(route: Route): RouteMatch {
  return { route, values: [] }
}

/** @param routes declarations by `GET /path`, or `* /path` for any method; handlers return that text */
export function tableOf(routes: Readonly<Record<string, object>>): RouteTable {
  const table = new RouteTable()
  table.composeWith(() => () => assert.fail('nothing is run'))
  for (const [title, declaration] of Object.entries(routes)) table.add(routeOf(table, title, declaration))
  return table
}

export function routeOf(table: RouteTable, title: string, declaration: object = {}, handler: Handler = () => title): Route {
  const [method, path] = title.split(' ') as [string, string]
  return new Route(table.root, method === '*' ? null : method, path, declaration, handler)
}

/** The label of the route that answers; null if none does. */
export function answering(table: RouteTable, head: Head, endpoint: string | null = null): string | null {
  return table.find(head, endpoint).route?.label ?? null
}
