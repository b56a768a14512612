import { client } from 'weirjs/client'

import { notes } from './contract.ts'

const api = client(notes, 'http://127.0.0.1:3000')
const added = await api.add({ body: { title: 'Tea' } })
console.log(added.body.id, added.body.title)
const shown = await api.show({ id: 99 })
if (shown.status === 200) console.log(shown.body.text)
else console.log(shown.body.detail)
