// What a search finds first: names of the reference by themselves, then pages that answer questions, last those for developers.
var Scorer = {
  score: result => {
    const page = result[0], score = result[4];
    if (/^(questions|guide|tutorials|conventions|quickstart)/.test(page)) return score + 8;
    if (/^migration/.test(page)) return score + 4;
    if (/^(architecture|changelog|coverage|contributing|sg_execution_times|gallery\/.*sg_execution_times)/.test(page)) return score - 8;
    return score;
  },
  // What follows is what Sphinx has.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
