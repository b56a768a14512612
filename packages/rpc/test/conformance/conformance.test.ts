// The cases of the Connect project's conformance tests for servers. README.md has what does not apply.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { create, fromBinary, fromJson, type JsonObject, type Message, toBinary } from '@bufbuild/protobuf'
import { anyPack, anyUnpack } from '@bufbuild/protobuf/wkt'
import { type CallOptions, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { compressionGzip, createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { HttpServer, type Module } from 'weirjs'
import { parse } from 'yaml'

import { mapService } from '../../src/index.ts'
import type { ClientResponseResult } from '../proto/connectrpc/conformance/v1/client_compat_pb.ts'
import { Codec, Compression, HTTPVersion, Protocol, StreamType } from '../proto/connectrpc/conformance/v1/config_pb.ts'
import {
  type ConformancePayload,
  ConformancePayload_RequestInfoSchema,
  ConformanceService,
  type Header,
  type MessageContents,
  type RawHTTPRequest,
  type StreamResponseDefinition,
  type UnaryResponseDefinition,
} from '../proto/connectrpc/conformance/v1/service_pb.ts'
import { type TestCase, type TestSuite, TestSuiteSchema } from '../proto/connectrpc/conformance/v1/suite_pb.ts'
import { CONFORMANCE, REGISTRY } from './service.ts'

const FOLDER = join(import.meta.dirname, '../../../../../packages/rpc/test/conformance/suites')
const LIMIT = 200 * 1024

interface Way {
  readonly protocol: Protocol
  readonly version: HTTPVersion
  readonly codec: Codec
  readonly compression: Compression
}

const WAYS: readonly Way[] = [Protocol.CONNECT, Protocol.GRPC, Protocol.GRPC_WEB].flatMap((protocol) =>
  [HTTPVersion.HTTP_VERSION_1, HTTPVersion.HTTP_VERSION_2].flatMap((version) =>
    protocol === Protocol.GRPC && version === HTTPVersion.HTTP_VERSION_1
      ? []
      : [Codec.PROTO, Codec.JSON].flatMap((codec) =>
          [Compression.IDENTITY, Compression.GZIP].map((compression) => ({ protocol, version, codec, compression })),
        ),
  ),
)

const NAMES = {
  protocol: { [Protocol.CONNECT]: 'Connect', [Protocol.GRPC]: 'gRPC', [Protocol.GRPC_WEB]: 'gRPC-Web' } as Record<number, string>,
  version: { [HTTPVersion.HTTP_VERSION_1]: 'HTTP/1.1', [HTTPVersion.HTTP_VERSION_2]: 'HTTP/2' } as Record<number, string>,
  codec: { [Codec.PROTO]: 'proto', [Codec.JSON]: 'JSON' } as Record<number, string>,
  compression: { [Compression.IDENTITY]: 'identity', [Compression.GZIP]: 'gzip' } as Record<number, string>,
}

function suiteIn(file: string): TestSuite {
  return fromJson(TestSuiteSchema, parse(readFileSync(join(FOLDER, file), 'utf8')) as JsonObject, { registry: REGISTRY })
}

function applies(suite: TestSuite, { request }: TestCase, way: Way): boolean {
  const has = <T>(list: readonly T[], one: T): boolean => list.length === 0 || list.includes(one)
  if (request!.streamType === StreamType.FULL_DUPLEX_BIDI_STREAM && way.version === HTTPVersion.HTTP_VERSION_1) return false
  return (
    has(suite.relevantProtocols, way.protocol) &&
    has(suite.relevantHttpVersions, way.version) &&
    has(suite.relevantCodecs, way.codec) &&
    has(suite.relevantCompressions, way.compression)
  )
}

const servers = new Map<HTTPVersion, HttpServer>()
before(async () => {
  for (const version of [HTTPVersion.HTTP_VERSION_1, HTTPVersion.HTTP_VERSION_2] as const) {
    const server = new HttpServer({
      port: 0,
      address: '127.0.0.1',
      http2: version === HTTPVersion.HTTP_VERSION_2 && 'cleartext',
      logger: null,
    })
    const map: Module = {
      name: 'conformance',
      install: (host) => mapService(host, ConformanceService, CONFORMANCE, { registry: REGISTRY, maxMessageSize: LIMIT, compressAbove: 0 }),
    }
    server.use(map)
    await server.start()
    servers.set(version, server)
  }
})
after(() => Promise.all([...servers.values()].map((server) => server.stop({ grace: 0 }))))

for (const file of readdirSync(FOLDER)) {
  const suite = suiteIn(file)
  // A handshake is below the protocols of RPC, and tests of TLS have it.
  describe(suite.name, { concurrency: 16, skip: suite.reliesOnTls && 'the tests of TLS have client certificates' }, () => {
    for (const way of WAYS) {
      for (const one of suite.testCases) {
        if (!applies(suite, one, way)) continue
        const { protocol, version, codec, compression } = way
        const where = [NAMES.protocol[protocol], NAMES.version[version], NAMES.codec[codec], NAMES.compression[compression]].join(', ')
        test(`${one.request!.testName}: ${where}`, () => check(suite, one, way))
      }
    }
  })
}

async function check({ name }: TestSuite, one: TestCase, way: Way): Promise<void> {
  const { request, expectedResponse } = one
  const origin = `http://127.0.0.1:${servers.get(way.version)!.port}`
  if (request!.rawRequest !== undefined) return checkRaw(one, origin, way.version)
  // The suite wants to see the deadline, not to meet it: a busy machine has more time.
  if (name === 'Deadline Propagation') request!.timeoutMs = 120_000
  expand(one)
  const seen = await call(one, transportFor(way, origin, request!.useGetHttpMethod))
  compare(seen, expectedResponse ?? expected(one), one)
}

function transportFor({ protocol, version, codec, compression }: Way, baseUrl: string, useHttpGet: boolean): Transport {
  const options = {
    baseUrl,
    useBinaryFormat: codec === Codec.PROTO,
    ...(compression === Compression.GZIP && { sendCompression: compressionGzip, compressMinBytes: 0 }),
    acceptCompression: compression === Compression.GZIP ? [compressionGzip] : [],
    jsonOptions: { registry: REGISTRY },
  }
  const httpVersion = version === HTTPVersion.HTTP_VERSION_1 ? '1.1' : '2'
  if (protocol === Protocol.GRPC) return createGrpcTransport(options)
  return protocol === Protocol.GRPC_WEB
    ? createGrpcWebTransport({ ...options, httpVersion })
    : createConnectTransport({ ...options, httpVersion, useHttpGet })
}

/** Pads messages to a size that is stated relative to the limit. */
function expand({ request, expandRequests }: TestCase): void {
  for (const [index, { sizeRelativeToLimit }] of expandRequests.entries()) {
    if (sizeRelativeToLimit === undefined) continue
    const any = request!.requestMessages[index]!
    const message = anyUnpack(any, REGISTRY) as Message & { requestData: Uint8Array }
    const desc = REGISTRY.getMessage(message.$typeName)!
    const wanted = LIMIT + sizeRelativeToLimit
    message.requestData = new Uint8Array(wanted)
    while (toBinary(desc, message).length > wanted) message.requestData = message.requestData.subarray(1)
    request!.requestMessages[index] = anyPack(desc, message)
  }
}

interface Seen {
  readonly headers: Headers
  readonly trailers: Headers
  readonly payloads: ConformancePayload[]
  error: ConnectError | null
}

async function call({ request }: TestCase, transport: Transport): Promise<Seen> {
  const { streamType, requestMessages, requestHeaders, timeoutMs, requestDelayMs, method: stated, cancel } = request!
  const client = createClient(ConformanceService, transport)
  const seen: Seen = { headers: new Headers(), trailers: new Headers(), payloads: [], error: null }
  const headers = new Headers()
  for (const { name, value } of requestHeaders) for (const one of value) headers.append(name, one)
  const copy = (to: Headers) => (from: Headers) => {
    for (const [name, value] of from) to.append(name, value)
  }
  assert.equal(cancel, undefined, 'no suite for servers cancels')
  const options: CallOptions = {
    headers,
    onHeader: copy(seen.headers),
    onTrailer: copy(seen.trailers),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
  // biome-ignore lint/suspicious/noExplicitAny: the messages of a suite have the types of their methods
  const messages = requestMessages.map((any) => anyUnpack(any, REGISTRY) as any)
  const pauses = (): Promise<unknown> => wait(requestDelayMs)
  async function* inTurn() {
    for (const [index, message] of messages.entries()) {
      if (index > 0) await pauses()
      yield message
    }
  }
  const add = ({ payload }: { readonly payload?: ConformancePayload | undefined }): void => {
    if (payload !== undefined) seen.payloads.push(payload)
  }
  try {
    if (stated === 'IdempotentUnary') add(await client.idempotentUnary(messages[0], options))
    else if (stated === 'Unimplemented') await client.unimplemented(messages[0], options)
    else if (streamType === StreamType.UNARY) add(await client.unary(messages[0], options))
    else if (streamType === StreamType.CLIENT_STREAM) add(await client.clientStream(inTurn(), options))
    else if (streamType === StreamType.SERVER_STREAM) for await (const response of client.serverStream(messages[0], options)) add(response)
    else for await (const response of client.bidiStream(inTurn(), options)) add(response)
  } catch (error) {
    seen.error = ConnectError.from(error)
    copy(seen.trailers)(seen.error.metadata)
  }
  return seen
}

/** What the definition in the first message asks for. */
function expected({ request }: TestCase): Partial<ClientResponseResult> {
  const messages = request!.requestMessages
  const first =
    messages[0] &&
    (anyUnpack(messages[0], REGISTRY) as Message & { responseDefinition?: UnaryResponseDefinition | StreamResponseDefinition })
  const definition = first?.responseDefinition
  const isStream = request!.streamType > StreamType.CLIENT_STREAM
  if (definition === undefined) return { payloads: isStream ? [] : [payloadOf(new Uint8Array(), messages)] }
  const { responseHeaders, responseTrailers } = definition
  if ('response' in definition) {
    const { case: kind, value } = definition.response
    if (kind === 'error') return { responseHeaders, responseTrailers, payloads: [], error: withInfo(value, messages) }
    return { responseHeaders, responseTrailers, payloads: [payloadOf(kind === 'responseData' ? value : new Uint8Array(), messages)] }
  }
  const isFull = request!.streamType === StreamType.FULL_DUPLEX_BIDI_STREAM
  const payloads = definition.responseData.map((data, index) =>
    payloadOf(data, isFull ? messages.slice(index, index + 1) : index === 0 ? messages : []),
  )
  const { error } = definition
  const shown = error && (payloads.length > 0 ? error : withInfo(error, isFull ? messages.slice(0, 1) : messages))
  return { responseHeaders, responseTrailers, payloads, ...(shown && { error: shown }) }
}

type DefinedError = NonNullable<StreamResponseDefinition['error']>

function withInfo(error: DefinedError, requests: TestCaseMessages): DefinedError {
  const info = create(ConformancePayload_RequestInfoSchema, { requests })
  return { ...error, details: [...error.details, anyPack(ConformancePayload_RequestInfoSchema, info)] }
}

type TestCaseMessages = NonNullable<TestCase['request']>['requestMessages']

function payloadOf(data: Uint8Array, requests: TestCaseMessages): ConformancePayload {
  return { data, requestInfo: create(ConformancePayload_RequestInfoSchema, { requests }) } as ConformancePayload
}

function compare(seen: Seen, wanted: Partial<ClientResponseResult>, one: TestCase): void {
  const { request, otherAllowedErrorCodes } = one
  if (wanted.error === undefined) assert.equal(seen.error, null)
  else {
    assert.ok(seen.error !== null, 'the call succeeded')
    const codes = [wanted.error.code, ...otherAllowedErrorCodes] as number[]
    assert.ok(
      codes.includes(seen.error.code),
      `${Code[seen.error.code]} ${seen.error.rawMessage} is not one of ${codes.map((code) => Code[code])}`,
    )
    if (wanted.error.message !== undefined) assert.equal(seen.error.rawMessage, wanted.error.message)
    const details = seen.error.details.map((detail) => {
      assert.ok('type' in detail)
      return { type: detail.type, value: detail.value }
    })
    for (const [index, { typeUrl, value }] of wanted.error.details.entries()) {
      const type = typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
      assert.equal(details[index]?.type, type)
      if (type === ConformancePayload_RequestInfoSchema.typeName)
        compareInfo(
          fromBinary(ConformancePayload_RequestInfoSchema, details[index]!.value),
          fromBinary(ConformancePayload_RequestInfoSchema, value),
          one,
        )
      else assert.deepEqual(details[index]!.value, value)
    }
  }
  const payloads = wanted.payloads ?? []
  assert.equal(seen.payloads.length, payloads.length, 'payloads')
  for (const [index, { data, requestInfo }] of payloads.entries()) {
    const got = seen.payloads[index]!
    assert.deepEqual(Buffer.from(got.data), Buffer.from(data))
    if (requestInfo !== undefined) compareInfo(got.requestInfo, requestInfo, index === 0 ? one : null)
  }
  for (const { name, value } of wanted.responseHeaders ?? [])
    compareField(name, value, wanted.error === undefined ? seen.headers : both(seen))
  for (const { name, value } of wanted.responseTrailers ?? [])
    compareField(name, value, wanted.error === undefined ? seen.trailers : both(seen))
  if (wanted.error !== undefined || payloads.length === 0) return
  const info = seen.payloads[0]!.requestInfo
  if (request!.timeoutMs !== undefined) {
    const left = Number(info!.timeoutMs)
    assert.ok(left > 0 && left <= request!.timeoutMs, `${left} ms`)
  }
}

/** Where a client finds the metadata of an error depends on whether the head had been sent. */
function both({ headers, trailers }: Seen): Headers {
  const all = new Headers(headers)
  for (const [name, value] of trailers) if (!all.has(name)) all.append(name, value)
  return all
}

type Info = NonNullable<ConformancePayload['requestInfo']>

function compareInfo(got: Info | undefined, wanted: Info, sent: TestCase | null): void {
  assert.deepEqual(
    got?.requests.map((any) => [any.typeUrl, Buffer.from(any.value).toString('hex')]) ?? [],
    wanted.requests.map((any) => [any.typeUrl, Buffer.from(any.value).toString('hex')]),
  )
  const fields = new Headers()
  for (const { name, value } of got?.requestHeaders ?? []) for (const one of value) fields.append(name, one)
  for (const { name, value } of sent?.request?.requestHeaders ?? []) compareField(name, value, fields)
}

function compareField(name: string, wanted: readonly string[], fields: Headers): void {
  const values = (fields.get(name) ?? '').split(',').map((one) => one.trim().replace(/=+$/, ''))
  assert.deepEqual(
    values,
    wanted.flatMap((one) => one.split(',')).map((one) => one.trim().replace(/=+$/, '')),
    name,
  )
}

async function checkRaw(
  { request, expectedResponse, otherAllowedErrorCodes }: TestCase,
  origin: string,
  version: HTTPVersion,
): Promise<void> {
  const { status, code } = await sendRaw(request!.rawRequest!, origin, version)
  if (expectedResponse?.httpStatusCode !== undefined) assert.equal(status, expectedResponse.httpStatusCode)
  const wanted: number[] = expectedResponse?.error === undefined ? [0] : [expectedResponse.error.code, ...otherAllowedErrorCodes]
  assert.ok(wanted.includes(code), `status ${status}, code ${code}; wanted ${wanted}`)
}

/** @returns the status, and the code that a client of the protocol reads */
async function sendRaw(
  raw: RawHTTPRequest,
  origin: string,
  version: HTTPVersion,
): Promise<{ readonly status: number; readonly code: number }> {
  const body = bodyOf(raw)
  const fields = Object.fromEntries(raw.headers.map(({ name, value }: Header) => [name, value.join(', ')]))
  const uri = `${raw.uri}${raw.rawQueryParams.length === 0 ? '' : `?${raw.rawQueryParams.map(({ name, value }) => `${name}=${encodeURIComponent(value[0]!)}`).join('&')}`}`
  const response =
    version === HTTPVersion.HTTP_VERSION_1
      ? await overHttp1(raw.verb, origin + uri, fields, body)
      : await overHttp2(raw.verb, origin, uri, fields, body)
  return { status: response.status, code: codeIn(response) }
}

interface RawResponse {
  readonly status: number
  readonly fields: Headers
  readonly trailers: Headers
  readonly body: Buffer
}

async function overHttp1(method: string, url: string, headers: Record<string, string>, body: Buffer): Promise<RawResponse> {
  const { te: _, ...others } = headers
  const response = await fetch(url, { method, headers: others, body })
  return { status: response.status, fields: response.headers, trailers: new Headers(), body: Buffer.from(await response.arrayBuffer()) }
}

function overHttp2(method: string, origin: string, path: string, headers: Record<string, string>, body: Buffer): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const client = http2.connect(origin)
    const stream = client.request({ ':method': method, ':path': path, ...headers }, { endStream: body.length === 0 })
    const pieces: Buffer[] = []
    let fields = new Headers()
    let status = 0
    let trailers = new Headers()
    const plain = (all: http2.IncomingHttpHeaders): Headers =>
      new Headers(Object.entries(all).flatMap(([name, value]): [string, string][] => (name.startsWith(':') ? [] : [[name, String(value)]])))
    stream.on('response', (all) => {
      status = all[':status'] ?? 0
      fields = plain(all)
    })
    stream.on('trailers', (all) => (trailers = plain(all)))
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('error', reject)
    stream.on('close', () => {
      client.close()
      resolve({ status, fields, trailers, body: Buffer.concat(pieces) })
    })
    if (body.length > 0) stream.end(body)
  })
}

/** The names in order of their numbers, from 1. */
const CODES = Object.values(Code).filter((one) => typeof one === 'string')
const nameOf = (code: string): number => CODES.findIndex((one) => one.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase() === code) + 1
const OF_STATUS: Record<number, number> = { 400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14 }

function codeIn({ status, fields, trailers, body }: RawResponse): number {
  const stated = trailers.get('grpc-status') ?? fields.get('grpc-status')
  if (stated !== null) return Number(stated)
  const type = fields.get('content-type') ?? ''
  if (status !== 200)
    return type === 'application/json' ? nameOf((JSON.parse(body.toString()) as { code: string }).code) : (OF_STATUS[status] ?? 2)
  if (type.startsWith('application/grpc-web')) return Number(/grpc-status: (\d+)/.exec(body.toString('latin1'))![1])
  if (!type.startsWith('application/connect+')) return 0
  const end = JSON.parse(body.subarray(body.indexOf('{')).toString()) as { error?: { code: string } }
  return end.error === undefined ? 0 : nameOf(end.error.code)
}

function bodyOf({ body }: RawHTTPRequest): Buffer {
  if (body.case === 'unary') return contentsOf(body.value)
  if (body.case !== 'stream') return Buffer.alloc(0)
  return Buffer.concat(
    body.value.items.map(({ flags, length, payload }) => {
      const bytes = contentsOf(payload)
      const head = Buffer.alloc(5)
      head[0] = flags
      head.writeUInt32BE(length ?? bytes.length, 1)
      return Buffer.concat([head, bytes])
    }),
  )
}

function contentsOf(contents: MessageContents | undefined): Buffer {
  const { case: kind, value } = contents?.data ?? {}
  const bytes = kind === 'binaryMessage' ? value!.value : kind === 'text' ? Buffer.from(value!) : (value ?? new Uint8Array())
  return contents?.compression === Compression.GZIP ? gzipSync(bytes as Uint8Array) : Buffer.from(bytes as Uint8Array)
}
