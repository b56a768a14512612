// Talks to the server of other-clients.test.ts with the WebSocket of Node itself, and prints what came back as JSON:
// node websocket-node.mjs ws://127.0.0.1:PORT
const URL = process.argv[2]
const DISTANT = Array.from({ length: 10 }, (_, n) =>
  Array.from({ length: 3000 }, (_, i) => String.fromCharCode(33 + ((i * i * (7 + (n % 5)) + i * 7919) % 90))).join(''),
)

/** Sends all once it is open, and resolves with what has come when there are as many, or with how it was closed. */
function talk(path, messages, { protocols = [], expected = messages.length } = {}) {
  const socket = new WebSocket(URL + path, protocols)
  socket.binaryType = 'arraybuffer'
  const heard = []
  return new Promise((resolve) => {
    socket.onopen = () => {
      for (const message of messages) socket.send(message)
    }
    socket.onmessage = ({ data }) => {
      heard.push(data)
      if (heard.length === expected) resolve({ socket, heard })
    }
    socket.onclose = ({ code, reason }) => resolve({ socket, heard, end: [code, reason] })
    socket.onerror = () => resolve({ socket, heard, end: 'refused' })
  })
}

const { socket, heard } = await talk('/echo', ['grüße', new Uint8Array([0, 255, 128]), 'x'.repeat(300_000), 'in one'], {
  protocols: ['v2', 'v1'],
})
const closed = new Promise((resolve) => {
  socket.onclose = ({ code, reason }) => resolve([code, reason])
})
socket.close(4000, 'bye')
const packed = await talk('/packed', DISTANT)
const { end: ended } = await talk('/ends', ['anything'], { expected: 2 })
const { end: refused } = await talk('/refused', [])
packed.socket.close()
console.log(
  JSON.stringify({
    subprotocol: socket.protocol,
    declined: socket.extensions,
    echo: [heard[0], Buffer.from(heard[1]).toString('hex'), heard[2].length, heard[3]],
    closed: await closed,
    extensions: packed.socket.extensions.split(';')[0],
    packed: packed.heard.filter((text, i) => text === DISTANT[i]).length,
    ended,
    refused,
  }),
)
