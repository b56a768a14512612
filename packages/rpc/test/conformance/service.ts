// The service that the conformance suites call: it does what a request asks for, and echoes what it has got.

import { setTimeout as wait } from 'node:timers/promises'

import { create, createRegistry, type Message } from '@bufbuild/protobuf'
import { anyPack } from '@bufbuild/protobuf/wkt'

import { type RpcCall, RpcError, type RpcImplementation } from '../../src/index.ts'
import {
  type BidiStreamRequest,
  BidiStreamRequestSchema,
  type ClientStreamRequest,
  ClientStreamRequestSchema,
  ConformancePayload_RequestInfoSchema,
  type ConformanceService,
  type Error as DefinedError,
  type Header,
  type IdempotentUnaryRequest,
  IdempotentUnaryRequestSchema,
  type ServerStreamRequest,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  type UnaryRequest,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
  UnaryResponseSchema,
  UnimplementedRequestSchema,
} from '../proto/connectrpc/conformance/v1/service_pb.ts'

export const REGISTRY = createRegistry(
  UnaryRequestSchema,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  ClientStreamRequestSchema,
  BidiStreamRequestSchema,
  UnimplementedRequestSchema,
  UnaryResponseSchema,
  ConformancePayload_RequestInfoSchema,
)

type AnyRequest = UnaryRequest | IdempotentUnaryRequest | ServerStreamRequest | ClientStreamRequest | BidiStreamRequest

export const CONFORMANCE: RpcImplementation<typeof ConformanceService> = {
  unary: (request, call) => one([request], request.responseDefinition, call),
  idempotentUnary: (request, call) => one([request], request.responseDefinition, call),
  async clientStream(requests, call) {
    const all: ClientStreamRequest[] = []
    for await (const request of requests) all.push(request)
    return one(all, all[0]?.responseDefinition, call)
  },
  async *serverStream(request, call) {
    yield* many([request], request.responseDefinition, call)
  },
  async *bidiStream(requests, call) {
    const all: BidiStreamRequest[] = []
    let definition: StreamResponseDefinition | undefined
    let sent = 0
    for await (const request of requests) {
      if (all.length === 0) {
        definition = request.responseDefinition
        set(definition, call)
      }
      all.push(request)
      if (all[0]!.fullDuplex !== true) continue
      if (definition === undefined || sent >= definition.responseData.length) break
      await wait(definition.responseDelayMs)
      const requestInfo = infoOf(sent === 0 ? all : [request], sent === 0 ? call : null)
      yield { payload: { data: definition.responseData[sent++]!, requestInfo } }
    }
    if (definition === undefined) return
    for (; sent < definition.responseData.length; sent++) {
      await wait(definition.responseDelayMs)
      yield { payload: { data: definition.responseData[sent]!, ...(sent === 0 && { requestInfo: infoOf(all, call) }) } }
    }
    if (definition.error !== undefined) throw errorOf(definition.error, sent === 0 ? infoOf(all, call) : null)
  },
}

async function one(requests: readonly AnyRequest[], definition: UnaryResponseDefinition | undefined, call: RpcCall) {
  const requestInfo = infoOf(requests, call)
  if (definition === undefined) return { payload: { requestInfo } }
  set(definition, call)
  await wait(definition.responseDelayMs)
  const { response } = definition
  if (response.case === 'error') throw errorOf(response.value, requestInfo)
  return { payload: { requestInfo, ...(response.case === 'responseData' && { data: response.value }) } }
}

async function* many(requests: readonly AnyRequest[], definition: StreamResponseDefinition | undefined, call: RpcCall) {
  if (definition === undefined) return
  set(definition, call)
  const requestInfo = infoOf(requests, call)
  let isFirst = true
  for (const data of definition.responseData) {
    await wait(definition.responseDelayMs)
    yield { payload: { data, ...(isFirst && { requestInfo }) } }
    isFirst = false
  }
  if (definition.error !== undefined) throw errorOf(definition.error, isFirst ? requestInfo : null)
}

function set(
  definition: { readonly responseHeaders: readonly Header[]; readonly responseTrailers: readonly Header[] } | undefined,
  call: RpcCall,
): void {
  for (const { name, value } of definition?.responseHeaders ?? []) for (const one of value) call.responseHeaders.append(name, one)
  for (const { name, value } of definition?.responseTrailers ?? []) for (const one of value) call.responseTrailers.append(name, one)
}

function infoOf(requests: readonly AnyRequest[], call: RpcCall | null) {
  const packed = requests.map((request) => anyPack(REGISTRY.getMessage(request.$typeName)!, request as Message))
  if (call === null) return create(ConformancePayload_RequestInfoSchema, { requests: packed })
  const { query } = call.session.request
  return create(ConformancePayload_RequestInfoSchema, {
    requests: packed,
    requestHeaders: [...call.requestHeaders].map(([name, value]) => ({ name, value: [value] })),
    ...(call.deadline !== null && { timeoutMs: BigInt(Math.max(0, call.deadline.getTime() - Date.now())) }),
    ...(query.size > 0 && { connectGetInfo: { queryParams: [...query].map(([name, value]) => ({ name, value: [value] })) } }),
  })
}

function errorOf({ code, message, details }: DefinedError, info: ReturnType<typeof infoOf> | null): RpcError {
  const own = details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), value }))
  return new RpcError(code, message ?? '', [
    ...own,
    ...(info === null ? [] : [{ desc: ConformancePayload_RequestInfoSchema, value: info }]),
  ])
}
