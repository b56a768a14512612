// A small form with a file, kept in memory. The sizes, the texts and both ends of the file in the response show that all of it was read.
import { jsonExchange, seededNumbers } from '../message.mjs'

const FILE_BYTES = 64 * 1024
const VARIANTS = 8
const below = seededNumbers(0xf11e)

function exchange(number) {
  const boundary = `----WebKitFormBoundary${Array.from({ length: 16 }, () => below(36).toString(36)).join('')}`
  const fields = { title: `Holidays ${number}`, author: 'Ada Lovelace', comment: 'Grüße von der See, mit Möwen und ohne Regen.' }
  const content = Buffer.from(Array.from({ length: FILE_BYTES }, () => below(256)))
  let text = ''
  for (const [name, value] of Object.entries(fields))
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  text += `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="sea.jpg"\r\nContent-Type: image/jpeg\r\n\r\n`
  const body = Buffer.concat([Buffer.from(text), content, Buffer.from(`\r\n--${boundary}--\r\n`)])
  const head = `POST /uploads HTTP/1.1\r\nHost: bench.localhost\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${body.length}\r\n\r\n`
  return jsonExchange(Buffer.concat([Buffer.from(head), body]), {
    ...fields,
    file: { name: 'sea.jpg', type: 'image/jpeg', size: FILE_BYTES, first: content[0], last: content[FILE_BYTES - 1] },
  })
}

export default {
  id: 'w5',
  name: 'Form with a file',
  title: 'POST /uploads, multipart with 3 fields and a file of 64 KiB, in memory',
  app: 'bodies',
  connections: 16,
  exchanges: Array.from({ length: VARIANTS }, (_, number) => exchange(number)),
}
