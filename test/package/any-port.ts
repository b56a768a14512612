// Loaded before a program that is run as printed: where it asks for a port, it gets one that is free.

import { Server } from 'node:net'

const listen = Server.prototype.listen

Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  const [options, ...rest] = args
  return Reflect.apply(listen, this, [{ ...(options as object), port: 0 }, ...rest])
}
