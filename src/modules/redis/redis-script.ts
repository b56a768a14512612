// A Lua script that Redis runs in one step.

import { createHash } from 'node:crypto'

/** A script that uses one key. Redis knows it by its SHA-1 once it has run it. */
export class RedisScript {
  readonly source: string
  readonly sha1: string

  constructor(source: string) {
    this.source = source
    this.sha1 = createHash('sha1').update(source).digest('hex')
  }
}
