// A Lua script that Redis runs in one step.

import { hash } from 'node:crypto'

/** A script that uses one key. Redis knows it by its SHA-1 once it has run it. */
export class RedisScript {
  readonly source: string
  readonly sha1: string

  constructor(source: string) {
    this.source = source
    this.sha1 = hash('sha1', source)
  }
}
