import{j as t}from"./chunk-U44LDVJH.js";function e({text:a,label:i="Explanation"}){return t("div",{class:"explanation",tabIndex:0,role:"region","aria-label":i,children:a.trimEnd().split(`
`).map((n,l)=>t("div",{class:/\S {2,}\S/.test(n)?"columns-of-text":"prose",children:n||" "},l))})}export{e as a};
