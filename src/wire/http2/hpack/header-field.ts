// A name and a value in the tables of HPACK.

/** What an entry costs in a table beside its text, and a field in a list (RFC 7541 §4.1, RFC 9113 §6.5.2). */
export const ENTRY_OVERHEAD = 32

/** Text has one character a byte. An entry of a table is one object for as long as it lives: its strings are made once. */
export class HeaderField {
  readonly name: string
  readonly value: string
  // What the reader of heads has computed about the field (../head.ts).
  /** 0 until then. */
  kind = 0
  /** Its line in HTTP/1.1; empty if it has none. */
  line = ''

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
  }

  /** Bytes that it counts as. */
  get size(): number {
    return this.name.length + this.value.length + ENTRY_OVERHEAD
  }
}

/** @param list name, value, name, value */
export function fieldsOf(list: readonly string[]): HeaderField[] {
  const fields: HeaderField[] = []
  for (let i = 0; i < list.length; i += 2) fields.push(new HeaderField(list[i]!, list[i + 1]!))
  return fields
}
