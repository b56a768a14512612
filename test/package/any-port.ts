// Loaded before a program that runs as printed: instead of the port that it sets, it gets a free one.

import { Server } from 'node:net'

const listen = Server.prototype.listen

Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  const [options, ...rest] = args
  return Reflect.apply(listen, this, [{ ...(options as object), port: 0 }, ...rest])
}
