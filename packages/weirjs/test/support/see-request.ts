// What a handler sees of one request: for tests of the operations on a body.

import assert from 'node:assert/strict'

import { type HttpRequest, HttpServer, ModelBindingError, type ServerOptions } from '../../src/index.ts'

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** What `look` sees of a request with that body, inside a handler. */
export async function see<T>(
  contentType: string | null,
  body: string | Uint8Array | null,
  look: (request: HttpRequest) => T,
  options: ServerOptions = {},
): Promise<T> {
  const server = new HttpServer(options)
  const seen: { value: T }[] = []
  server.mapPost('/', (_, { request }) => {
    seen.push({ value: look(request) })
    return 'seen'
  })
  const response = await server.inject({
    method: 'POST',
    url: '/',
    headers: contentType === null ? {} : { 'Content-Type': contentType },
    ...(body === null ? {} : { body }),
  })
  assert.equal(response.text(), 'seen')
  return seen[0]!.value
}

/** The failures of the `ModelBindingError` that `act` throws. */
export function failuresOf(act: () => unknown): string[] {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof ModelBindingError, String(error))
    assert.deepEqual([error.status, error.code], [400, 'WEIR_MODEL_BINDING'])
    return error.failures.map(({ name, expected, actual }) => `${name}: ${expected}, not ${actual}`)
  }
  return assert.fail('nothing was thrown')
}
