// A name and a value in the tables of HPACK.

/** Bytes that an entry of a table, or a field of a list, counts as in addition to its text (RFC 7541 §4.1, RFC 9113 §6.5.2). */
export const ENTRY_OVERHEAD = 32

/** Text has one character per byte. An entry of a table is always the same object, so its strings are made only once. */
export class HeaderField {
  readonly name: string
  readonly value: string
  /** Bytes that it counts as in a table or a list. */
  readonly size: number
  // Computed by the reader of heads (../head.ts).
  /** 0 until it has been computed. */
  kind = 0
  /** Its line in HTTP/1.1; empty if it has none. */
  line = ''

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + ENTRY_OVERHEAD
  }
}

/** @param list name, value, name, value */
export function fieldsOf(list: readonly string[]): HeaderField[] {
  const fields: HeaderField[] = []
  for (let i = 0; i < list.length; i += 2) fields.push(new HeaderField(list[i]!, list[i + 1]!))
  return fields
}
