// Reports what is written to a transport.

import { Buffer } from 'node:buffer'

import type { Transport } from './transport.ts'

/**
 * @param onSent called with what is written from now on: bytes that may change when it has returned
 * @returns the transport itself
 */
export function tapped(transport: Transport, onSent: (bytes: Uint8Array) => void): Transport {
  const { writeText, writeBytes, writeShared, writeBoth } = transport
  transport.writeText = (text) => {
    onSent(Buffer.from(text, 'latin1'))
    writeText.call(transport, text)
  }
  transport.writeBytes = (bytes, onWritten) => {
    onSent(bytes)
    Reflect.apply(writeBytes, transport, [bytes, onWritten])
  }
  transport.writeShared = (bytes) => {
    onSent(bytes)
    return writeShared.call(transport, bytes)
  }
  transport.writeBoth = (text, bytes) => {
    onSent(Buffer.from(text, 'latin1'))
    onSent(bytes)
    writeBoth.call(transport, text, bytes)
  }
  return transport
}
