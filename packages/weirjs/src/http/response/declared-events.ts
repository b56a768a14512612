// In tests and with `debug`: events of a route whose answers declare them are checked before they are sent. In production, they are sent as they
// are, because a channel encodes an event once for all its clients.

import { WeirError } from '../../base/errors.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { checkedPickerOf } from '../../schema/picker.ts'
import { type AnySchema, isSchema } from '../../schema/standard.ts'
import { type ByteSource, bytesOf } from './byte-source.ts'

/** One schema for the data of all events, or one for each name. */
export type EventSchemas = AnySchema | { readonly [event: string]: AnySchema }

/**
 * Returns a source that fails with WEIR_ANSWER_UNDECLARED at an event that is not declared.
 * @param label of the route, for messages
 */
export function declaredEvents(source: ByteSource, declared: EventSchemas, label: string): ByteSource {
  const pieces = source[Symbol.asyncIterator]()
  const decoder = new TextDecoder()
  let rest = ''
  const check = (piece: unknown): void => {
    const blocks = (rest + decoder.decode(bytesOf(piece), { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const mistake = mistakeIn(block.split('\n'), declared)
      if (mistake !== null) throw new WeirError('WEIR_ANSWER_UNDECLARED', `an event of ${label}: ${mistake}`)
    }
  }
  const close = async (): Promise<IteratorResult<Uint8Array | string>> => {
    await pieces.return?.()
    return { done: true, value: undefined }
  }
  const checked: AsyncIterator<Uint8Array | string> = {
    async next() {
      const result = await pieces.next()
      try {
        if (result.done !== true) check(result.value)
        return result
      } catch (error) {
        await close()
        throw error
      }
    },
    return: close,
  }
  return { [Symbol.asyncIterator]: () => checked }
}

/** @param lines of one event (WHATWG HTML §9.2.6) */
function mistakeIn(lines: readonly string[], declared: EventSchemas): string | null {
  const valuesOf = (field: string): string[] =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ''))
  const data = valuesOf('data')
  if (data.length === 0) return null // clients dispatch no event
  const name = valuesOf('event').at(-1) || 'message'
  const schema = isSchema(declared) ? declared : Object.hasOwn(declared, name) ? declared[name]! : null
  if (schema === null) return `the name ${JSON.stringify(name)} is not declared; declared are ${Object.keys(declared).join(', ')}`
  let value: unknown
  try {
    value = JSON.parse(data.join('\n'))
  } catch {
    return `the data of ${JSON.stringify(name)} is not JSON`
  }
  const picked = checkedPickerOf(schema)(value)
  if (picked instanceof Mismatch) {
    const found = picked.all().map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`))
    const hint = /expected a date like/.test(String(found))
      ? ': an event is sent as JSON.stringify writes it, so pass a day as text, not as a Date'
      : ''
    return `the data of ${JSON.stringify(name)}: ${found.join('; ')}${hint}`
  }
  const extra = undeclaredIn(value, picked, '')
  return extra === null ? null : `the data of ${JSON.stringify(name)} has ${extra}, which is not declared`
}

/** The pointer of a property that was not picked; null if all of them were. */
function undeclaredIn(value: unknown, picked: unknown, pointer: string): string | null {
  if (typeof value !== 'object' || value === null || typeof picked !== 'object' || picked === null) return null
  for (const [key, part] of Object.entries(value)) {
    if (!Object.hasOwn(picked, key)) return `${pointer}/${key}`
    const extra = undeclaredIn(part, (picked as Record<string, unknown>)[key], `${pointer}/${key}`)
    if (extra !== null) return extra
  }
  return null
}
