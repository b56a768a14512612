// The reflection protocol of gRPC, which lists the services and the files that declare them for tools such as grpcurl.

import { clone, type DescFile, type DescMessage, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { numberOf } from './codes.ts'
import type { RpcImplementation } from './implementation.ts'
import type { ServerReflection, ServerReflectionResponse } from './proto/grpc/reflection/v1/reflection_pb.ts'

type Outcome = ServerReflectionResponse['messageResponse']

/**
 * The implementation of `ServerReflection`, for `mapService`, and of `ServerReflectionV1alpha`, for older tools. Anyone who can call it can read
 * the names of all methods and messages of the services.
 */
export function reflection(services: readonly DescService[]): RpcImplementation<typeof ServerReflection> {
  /** A file may declare other services, which the program does not show. */
  const shown = new Set(services.map(({ typeName }) => typeName))
  const files = new Map<string, DescFile>()
  const symbols = new Map<string, DescFile>()
  /** Each file is encoded once, because that takes milliseconds, and a client asks in a few bytes. */
  const encoded = new Map<DescFile, Uint8Array>()
  for (const { file } of services) addFile(file)

  function addFile(file: DescFile): void {
    if (files.has(nameOf(file))) return
    files.set(nameOf(file), file)
    for (const dependency of file.dependencies) addFile(dependency)
    for (const message of file.messages) addMessage(message, file)
    for (const { typeName } of [...file.enums, ...file.extensions]) symbols.set(typeName, file)
    for (const service of file.services) {
      if (!shown.has(service.typeName)) continue
      symbols.set(service.typeName, file)
      for (const { name } of service.methods) symbols.set(`${service.typeName}.${name}`, file)
    }
  }

  function addMessage({ typeName, nestedMessages, nestedEnums, fields }: DescMessage, file: DescFile): void {
    symbols.set(typeName, file)
    for (const { name } of fields) symbols.set(`${typeName}.${name}`, file)
    for (const nested of nestedMessages) addMessage(nested, file)
    for (const { typeName: name } of nestedEnums) symbols.set(name, file)
  }

  function filesFor(file: DescFile | undefined, what: string): Outcome {
    if (file === undefined) return failed(`there is no ${what}`)
    const needed = new Set<DescFile>()
    const add = (one: DescFile): void => {
      if (needed.has(one)) return
      needed.add(one)
      one.dependencies.forEach(add)
    }
    add(file)
    const fileDescriptorProto = [...needed].map((one) => {
      const bytes = encoded.get(one) ?? encode(one)
      encoded.set(one, bytes)
      return bytes
    })
    return found('fileDescriptorResponse', { fileDescriptorProto })
  }

  function encode({ proto, services: all }: DescFile): Uint8Array {
    const own = clone(FileDescriptorProtoSchema, proto)
    own.service = own.service.filter((_, i) => shown.has(all[i]!.typeName))
    return toBinary(FileDescriptorProtoSchema, own)
  }

  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        const { messageRequest: asked } = request
        yield { validHost: request.host, originalRequest: request, messageResponse: answerTo(asked) }
      }
    },
  }

  function answerTo(asked: { readonly case?: string | undefined; readonly value?: unknown }): Outcome {
    const text = String(asked.value)
    if (asked.case === 'listServices')
      return found('listServicesResponse', { service: services.map(({ typeName }) => ({ name: typeName })) })
    if (asked.case === 'fileByFilename') return filesFor(files.get(text), `file ${text}`)
    if (asked.case === 'fileContainingSymbol') return filesFor(symbols.get(text.replace(/^\./, '')), `symbol ${text}`)
    if (asked.case === 'allExtensionNumbersOfType') return found('allExtensionNumbersResponse', { baseTypeName: text, extensionNumber: [] })
    return failed('there is no such extension')
  }
}

/** `a/b.proto`: descriptors have the name without its end. */
function nameOf({ proto }: DescFile): string {
  return proto.name
}

function found(name: string, value: object): Outcome {
  return { case: name, value } as Outcome
}

function failed(errorMessage: string): Outcome {
  return found('errorResponse', { errorCode: numberOf('not_found'), errorMessage })
}
