// A routed request as a browser sends it. The header fields differ from request to request, so caching the last block is of no use.
import { jsonExchange, requestOf, seededNumbers } from '../message.mjs'

const VARIANTS = 2048
const LANGUAGES = ['en-GB,en;q=0.9', 'de-DE,de;q=0.9,en;q=0.7', 'fr-FR,fr;q=0.8,en-US;q=0.5,en;q=0.3', 'pt-BR,pt;q=0.9']
const SYSTEMS = ['X11; Linux x86_64', 'Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7']

const below = seededNumbers(0x5eed)
const token = (length) => Array.from({ length }, () => below(36).toString(36)).join('')

function browserFields() {
  const version = 118 + below(30)
  return {
    Connection: 'keep-alive',
    'User-Agent': `Mozilla/5.0 (${SYSTEMS[below(SYSTEMS.length)]}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.${below(7000)}.${below(200)} Safari/537.36`,
    Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'Accept-Language': LANGUAGES[below(LANGUAGES.length)],
    'Accept-Encoding': 'gzip, deflate, br, zstd',
    Referer: `https://bench.example/users?page=${1 + below(400)}&sort=${token(5)}`,
    'Sec-Fetch-Dest': 'empty',
    'Sec-Fetch-Mode': 'cors',
    'Sec-Fetch-Site': 'same-origin',
    Cookie: `session=${token(32)}; theme=${below(2) === 0 ? 'dark' : 'light'}; _ga=GA1.2.${below(1e9)}.${below(1e9)}; consent=${token(8)}`,
  }
}

export default {
  id: 'w2',
  name: 'Browser request',
  title: 'GET /users/42?active=true, ten browser fields, cookies included, that vary; id and active converted',
  app: 'basic',
  exchanges: Array.from({ length: VARIANTS }, () =>
    jsonExchange(requestOf('GET', '/users/42?active=true', browserFields()), { id: 42, active: true }),
  ),
}
