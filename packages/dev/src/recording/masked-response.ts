// A response without secrets. Secrets of its request that it repeats are hidden too.

import type { Buffer } from 'node:buffer'

import type { dev } from 'weirjs/kit'

/** The secrets of a response, which the exchange may repeat. @param body without its content coding; null if it is not known */
export function secretsOf(
  masking: dev.Masking,
  fields: Iterable<readonly [name: string, value: string]>,
  contentType: string | null,
  body: Buffer | null,
): string[] {
  const found = [...fields].flatMap(([name, value]) => masking.field(name, value).secrets)
  return body === null ? found : [...found, ...masking.body(body.toString('latin1'), contentType).secrets]
}

/** @param secrets of the exchange */
export function maskedField(masking: dev.Masking, name: string, value: string, secrets: readonly string[]): string {
  return masking.without(masking.field(name, value).text, secrets)
}

/** One character for each byte. Text in another encoding than UTF-8 has the same names. @param secrets of the exchange */
export function maskedBody(masking: dev.Masking, body: Buffer, contentType: string | null, secrets: readonly string[]): string {
  return masking.without(masking.body(body.toString('latin1'), contentType).text, secrets)
}
