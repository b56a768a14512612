// The implementation of a service: a function for each method. An implementation for Connect fits.

import type {
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'

import type { RpcCall } from './call.ts'

/** The handler of one method. */
export type RpcHandler<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: RpcCall) => Promise<MessageInitShape<O>> | MessageInitShape<O>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: RpcCall) => AsyncIterable<MessageInitShape<O>>
      : M extends DescMethodClientStreaming<infer I, infer O>
        ? (requests: AsyncIterable<MessageShape<I>>, call: RpcCall) => Promise<MessageInitShape<O>>
        : M extends DescMethodBiDiStreaming<infer I, infer O>
          ? (requests: AsyncIterable<MessageShape<I>>, call: RpcCall) => AsyncIterable<MessageInitShape<O>>
          : never

/** The handlers of a service, by the names of its methods. A method without one responds `unimplemented`. */
export type RpcImplementation<S extends DescService> = {
  [K in keyof S['method']]?: RpcHandler<S['method'][K]>
}
