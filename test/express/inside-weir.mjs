// Loaded with --import before a program that uses `http.createServer`: from then on, its listeners run inside weir, by `mountNode`.
//
// `listen` of Node is synchronous and that of weir is not, so a plain TCP server listens, and passes its bytes on.
import http from 'node:http'
import net from 'node:net'

import { HttpServer } from '../../packages/weirjs/dist/index.js'
import { mountNode } from '../../packages/weirjs/dist/node/index.js'

class ServerInsideWeir extends net.Server {
  #weir = null
  #sockets = new Set()

  constructor(listener) {
    super({ allowHalfOpen: true, pauseOnConnect: true })
    this.on('listening', () => {
      this.#weir = new HttpServer({ address: '::', port: 0, logger: null })
      mountNode(this.#weir, '/', listener, { next: false })
      this.#weir.start()
    })
    this.on('connection', (socket) => this.#serve(socket))
    this.on('close', () => this.#weir?.stop({ graceMs: 0 }))
  }

  async #serve(socket) {
    while (!this.#weir.isListening) await new Promise((resolve) => setImmediate(resolve))
    const inner = net.connect({ port: this.#weir.port, host: '127.0.0.1', allowHalfOpen: true })
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ]) {
      this.#sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }

  close(callback) {
    for (const socket of this.#sockets) socket.destroy()
    return super.close(callback)
  }
}

http.createServer = (...args) => new ServerInsideWeir(args.at(-1))
