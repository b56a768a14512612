// The dynamic table (RFC 7541 §2.3.2, §4): the last fields that were sent in one direction of a connection, newest first, up to a size in bytes.
//
// It is a ring, so entries never move. It grows with its content: a connection that uses no table has none.

import type { HeaderField } from './header-field.ts'

const FIRST_PLACES = 8

export class DynamicTable {
  /** Its length is a power of two. */
  #ring: (HeaderField | null)[] = []
  /** Rises with each entry that is added. While it and `count` are the same, so is the table. */
  added = 0
  count = 0
  /** Sum of the sizes of all entries (RFC 7541 §4.1). */
  bytes = 0
  maxBytes: number
  /** The age of the newest entry with the name that `find` looked for; -1 for none. */
  nameAge = -1

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** @param age 0 for the newest entry, `count - 1` for the oldest */
  at(age: number): HeaderField {
    return this.#ring[(this.added - 1 - age) & (this.#ring.length - 1)]!
  }

  /** @returns the age of the newest entry with this name and value; -1 for none, and then `nameAge` is the age of the newest entry with the name */
  find(name: string, value: string): number {
    const ring = this.#ring
    const mask = ring.length - 1
    const newest = this.added - 1
    const count = this.count
    let nameAge = -1
    for (let age = 0; age < count; age++) {
      const entry = ring[(newest - age) & mask]!
      if (entry.name !== name) continue
      if (entry.value === value) return age
      if (nameAge < 0) nameAge = age
    }
    this.nameAge = nameAge
    return -1
  }

  /** Adds an entry, and evicts the oldest to make room. One that is larger than the table empties it (§4.4). */
  add(field: HeaderField): void {
    const { size } = field
    this.#evict(this.maxBytes - size)
    if (size > this.maxBytes) return
    if (this.count === this.#ring.length) this.#grow()
    this.#ring[this.added++ & (this.#ring.length - 1)] = field
    this.count++
    this.bytes += size
  }

  /** Changes the largest size of the table (§4.3). */
  resize(maxBytes: number): void {
    this.maxBytes = maxBytes
    this.#evict(maxBytes)
  }

  #evict(roomBytes: number): void {
    while (this.bytes > roomBytes && this.count > 0) {
      const place = (this.added - this.count) & (this.#ring.length - 1)
      this.bytes -= this.#ring[place]!.size
      this.#ring[place] = null
      this.count--
    }
  }

  #grow(): void {
    const places = Math.max(FIRST_PLACES, 2 * this.#ring.length)
    const ring: (HeaderField | null)[] = new Array(places).fill(null)
    for (let age = 0; age < this.count; age++) ring[(this.added - 1 - age) & (places - 1)] = this.at(age)
    this.#ring = ring
  }
}
