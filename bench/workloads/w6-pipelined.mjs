import hello from './w1-hello.mjs'

export default { ...hello, id: 'w6', name: 'JSON hello, pipelined', title: 'JSON hello, pipelined 16 deep', depth: 16 }
